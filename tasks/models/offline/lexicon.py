"""Closed word lists of English that the offline extractor and answerer go by."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FUNCTION_WORDS = _words("""
    a able about above across actually after again against ago all almost along already also although
    always am among an and another any anybody anyone anything anyway are aren't around as at away back
    be because been before behind being below besides best better between beyond both but by called can
    can't cannot certainly could couldn't currently definitely despite did didn't do does doesn't doing
    don't done down during each either else enough especially etc even ever every everyone everything
    except far few finally first for from further generally get gets getting got gotten had hadn't has
    hasn't have haven't having he he'd he's hello hence her here here's hers herself hey hi him himself
    his honestly how how's however i i'd i'll i'm i've if in indeed inside instead into is isn't it it'd
    it'll it's its itself just kind kinda last lately later least less let let's like likely little lot
    lots many may maybe me meanwhile might mine more most mostly much must my myself named near nearly
    neither never next no nobody none nor not nothing now of off often oh ok okay on once one only onto
    or other others otherwise ought our ours ourselves out outside over own per perhaps please plus
    possibly pretty probably quite rather really recently regarding same second several shall she she'd
    she's should shouldn't since so some somebody someone something sometimes somewhat soon still such
    sure than thank thanks that that'd that's the their theirs them themselves then there there's
    therefore these they they'd they're they've this those though through throughout thus till titled to
    today together tomorrow tonight too toward towards under unfortunately unless until up upon us
    usually various very via was wasn't way we we'd we'll we're we've well were weren't what what's
    whatever when whenever where whether which while who who's whoever whole whom whose why will with
    within without won't would wouldn't wow yeah yes yesterday yet you you'd you'll you're you've your
    yours yourself
    """)

DETERMINERS = _words("a an the my your his her its our their some any each every another no own new")

FIRST_PERSON = _words("i i'm i've i'd i'll my mine me we we're we've our us myself")

_REGULAR_VERBS = """
    accept achieve add admit advise agree aim allow appear apply appreciate arrange arrive ask assemble
    assist attempt attend avoid bake become believe belong borrow bother browse call cancel care carry
    cause celebrate change check clarify clean combine come compare complete confirm consider consist
    contain continue contribute cook cost count cover create decide deliver depend describe design develop
    discuss display donate dream dry earn elaborate enable enhance enjoy ensure enter exceed expect
    explain explore express face fail feature figure finish fix focus follow gain gather generate graduate
    grow guess handle happen hate help highlight hike hope imagine improve include incorporate increase
    indicate inherit inspire install intend introduce invest involve jog join keep learn listen live look
    love maintain manage mention miss mix move need notice occur offer open order organize own participate
    pass perform pick plan play prefer prepare prevent promote protect provide pull purchase push raise
    reach realize receive recommend reduce refer reflect relate relax release remain remember remind
    remove repeat replace report represent require research respond return review save search seem serve
    share shop show sign sort start stay stop struggle study submit suggest support suppose switch talk
    taste tell tend test thank tie touch track train travel treat try turn update upgrade use vary visit
    volunteer wait walk want warn wash watch wear wish wonder work worry
    """

_IRREGULAR_VERBS = _words("""
    am are ate be been began begun being bought bring brings broke broken brought build builds built buy
    buying buys came caught choose chose chosen did do done drank drink driven drove eat eaten eats fallen
    feel feels fell felt find finding finds flew flown forget forgot forgotten found gave get gets getting
    give given gives giving go goes going gone got grew grown had has have having hear heard held hold
    holds hung is kept knew know known knows laid lead leads leave leaves leaving led left lend lent lose
    losing lost made make makes making mean means meant meet meets met paid pay paying pays put puts
    putting ran read reads ride rode run running runs said sang sat saw say saying says see seeing seen
    sees sell send sends sent set sets setting shot sing sit sits sleep slept sold speak speaks spend
    spending spends spent spoke spoken stood swam swim take taken takes taking taught teach teaches tell
    telling tells think thinking thinks thought threw told took understand understood was went were win
    wins woke won wore worn write writes writing written wrote
    """)


def _inflected(verb: str) -> set[str]:
    """The regular forms of a verb; doubled consonants for all, since a form that no one writes is idle."""
    stem = verb.removesuffix("e")
    forms = {verb, verb + "s", verb + "es", stem + "ed", stem + "ing"}
    if verb.endswith("y"):
        forms |= {verb[:-1] + "ies", verb[:-1] + "ied"}
    return forms | {verb + verb[-1] + "ed", verb + verb[-1] + "ing"}


VERBS = _IRREGULAR_VERBS.union(*(_inflected(verb) for verb in _REGULAR_VERBS.split()))

# Nouns and adjectives that name nothing by themselves: a phrase made of them alone is no entity.
VAGUE = _words("""
    additional advice amazing answer aspect big bit bunch case certain chat common conversation couple
    curious day days detail details difference different difficult discussion easy effective example
    excited exciting experience fact factor final fun general glad good great guide hand happy hard help
    helpful high hour hours idea ideas important information interested interesting issue item items job
    key large list local long look low luck matter mind minute minutes moment month months name nice
    number old older open option options overall part particular people perfect piece place places point
    possible previous problem process proper question questions quick reason recommendation
    recommendations resource resources right set short similar small sound sounds specific start step
    steps stuff suggestion suggestions super term terms thing things thought thoughts time times tip tips
    top topic total true type types variety week weekend weeks welcome wonderful world year years younger
    """)

LABEL_CUES: dict[str, frozenset[str]] = {
    "Person": _words("""
        aunt baby boss boyfriend brother child children colleague cousin coworker dad dad's daughter
        dentist doctor dr father friend friends girlfriend grandfather grandma grandmother grandpa husband
        instructor kid kids landlord mom mother mr mrs ms neighbor nephew niece parents partner professor
        roommate sister sister's son teacher therapist trainer uncle wife
        """),
    "Organization": _words("""
        agency airlines association bank church club college committee company corp corporation department
        foundation group hospital inc institute llc ltd ministry organization school shelter society
        startup team union university
        """),
    "Location": _words("""
        airport apartment area avenue bay beach bridge cafe campground center centre city coast country
        county forest garden gym hall hotel house island lake library market mountain mountains museum
        neighborhood park place restaurant river road room square state store street theater theatre town
        trail valley village website
        """),
    "Event": _words("""
        accident anniversary appointment birthday ceremony class concert conference course date dinner
        event exam exhibition festival flight funeral game gathering graduation hike interview lecture
        marathon match meeting meetup party performance race reunion seminar session show surgery tour
        tournament trip vacation visit walk webinar wedding workshop
        """),
    "Skill": _words("""
        baking coding cooking cycling dancing drawing gardening guitar hiking knitting language painting
        photography piano pottery programming running sewing skill skills swimming violin woodworking
        writing yoga
        """),
    "Goal": _words("goal goals resolution target ambition"),
    "Preference": _words("favorite favourite preference hobby"),
    "Artifact": _words("""
        album app bag bike book books boots cake camera car coffee computer device dress gift guitar lamp
        laptop movie necklace novel phone plant playlist podcast recipe ring series shirt shoes software
        song table tank ticket tickets tool toy watch wine
        """),
}

LIKING = _words(
    "like likes love loves loved prefer prefers preferred enjoy enjoys enjoyed hate dislike favorite"
)
INTENDING = _words("want wants wanted plan plans planning hope hoping aim aiming wish intend goal")

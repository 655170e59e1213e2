# ruff: noqa: E501 (lists of words, not prose)
"""Which English words do the English rules speak of?"""

from __future__ import annotations

from mnemic.longterm.extract.rule import alternatives as _any

KIN = _any(
    "mum|mom|mother|dad|father|parents|wife|husband|partner|spouse|fiance|fiancé|fiancee|fiancée|girlfriend|boyfriend|son|daughter|kid|kids|child|children|baby|toddler|"
    "brother|sister|twin|twins|siblings|grandma|grandmother|grandpa|grandfather|granddad|gran|nan|grandson|granddaughter|aunt|uncle|cousin|niece|nephew|"
    "daughter-in-law|son-in-law|mother-in-law|father-in-law|brother-in-law|sister-in-law|in-laws|stepson|stepdaughter|stepmother|stepfather|stepdad|stepmom|godson|goddaughter|family|ex-wife|ex-husband|"
    "friend|best friend|flatmate|roommate|housemate|neighbour|neighbor|boss|manager|colleague|coworker|co-worker|teammate|mentor|supervisor|assistant|landlord|"
    "teacher|tutor|coach|therapist|accountant|lawyer|dentist|nanny|client|business partner|cofounder|co-founder|intern|dog|cat|puppy|kitten|parrot|rabbit|hamster|horse|pet|tortoise|pony"
)
RELATION = (
    r"(?:my|our)\s+(?:(?:little|big|older|elder|younger|eldest|youngest|oldest|late|best|good|old|close|new|ex|own|two|three|only|twin|baby|better|first|second|[\w-]+-year-old|teenage|adopted)\s+){0,3}"
    + KIN
    + r"(?:,?\s+(?-i:[A-Z][\w'-]+)(?:\s+(?-i:[A-Z][\w'-]+))?(?:,(?=\s))?)?"
)
ADVERBS = (
    r"(?:(?:really|absolutely|actually|also|always|still|just|simply|truly|definitely|generally|usually|mostly|mainly|particularly|especially|personally|honestly|strongly|much|far|quite|very|"
    r"rather|kind of|kinda|sort of|totally|completely|do|now|currently|both|only|even|genuinely|deeply|secretly|normally|typically|originally|recently|already|finally|officially|"
    r"basically|primarily|presently|never|rarely|hardly ever|no longer|often|sometimes|myself|too|more|all|together|at the moment|these days|lately|once|since|as of \w+|happily|proudly|"
    r"a bit|a little|pretty|so|super|extremely|long|long been|as you know|by the way|first|later|then|since then|in fact|of course)\s+){0,4}"
)
ROLE = _any(
    "engineer|developer|programmer|coder|designer|architect|teacher|professor|lecturer|tutor|student|undergraduate|undergrad|postgraduate|postgrad|postdoc|freshman|sophomore|nurse|doctor|"
    "physician|surgeon|dentist|vet|veterinarian|pharmacist|midwife|paramedic|therapist|psychologist|psychiatrist|counsellor|counselor|social worker|lawyer|solicitor|barrister|paralegal|"
    "attorney|judge|accountant|auditor|bookkeeper|actuary|banker|broker|trader|analyst|consultant|economist|statistician|mathematician|physicist|chemist|biologist|geologist|"
    "astronomer|scientist|researcher|historian|linguist|philosopher|archaeologist|anthropologist|sociologist|writer|author|novelist|poet|journalist|reporter|editor|copywriter|"
    "translator|interpreter|librarian|curator|archivist|artist|painter|sculptor|illustrator|animator|photographer|filmmaker|director|producer|actor|actress|musician|composer|"
    "singer|pianist|guitarist|violinist|cellist|drummer|dj|dancer|choreographer|chef|cook|baker|barista|bartender|waiter|waitress|butcher|brewer|farmer|gardener|florist|beekeeper|"
    "fisherman|sailor|pilot|flight attendant|driver|courier|mechanic|electrician|plumber|carpenter|welder|roofer|builder|bricklayer|mason|joiner|machinist|technician|tailor|"
    "seamstress|hairdresser|barber|beautician|jeweller|potter|blacksmith|soldier|veteran|officer|policeman|policewoman|detective|firefighter|guard|civil servant|politician|diplomat|"
    "manager|director|executive|ceo|cto|cfo|coo|vp|founder|co-founder|cofounder|entrepreneur|owner|landlord|landlady|recruiter|secretary|assistant|receptionist|administrator|"
    "sysadmin|devops|sre|dba|tester|qa|product owner|scrum master|project manager|product manager|marketer|salesperson|salesman|realtor|estate agent|freelancer|contractor|"
    "self-employed|retiree|pensioner|homemaker|housewife|stay-at-home mum|stay-at-home mom|stay-at-home dad|mother|father|mum|mom|dad|parent|grandmother|grandfather|widow|widower|"
    "vegetarian|vegan|pescatarian|muslim|christian|jew|hindu|buddhist|atheist|catholic|quaker|sikh|morning person|night owl|early bird|introvert|extrovert|twin|only child|"
    "native speaker|citizen|resident|immigrant|expat|refugee|volunteer|coach|trainer|instructor|referee|athlete|runner|cyclist|climber|swimmer|sportsman|gymnast|beginner|novice|newbie|"
    "apprentice|intern|trainee|phd candidate|phd|graduate|major|minor|specialist|strategist|planner|coordinator|supervisor|foreman|inspector|surveyor|cartographer|optician|"
    "radiographer|radiologist|anaesthetist|cardiologist|neurologist|paediatrician|pediatrician|dermatologist|oncologist|physiotherapist|nutritionist|dietitian|bus driver|cabbie|"
    "streamer|youtuber|podcaster|blogger|influencer|gamer|collector|birdwatcher|taurus|aries|gemini|leo|virgo|libra|scorpio|sagittarius|capricorn|aquarius|pisces|"
    "generalist|principal|headteacher|dean|priest|pastor|nun|monk|rabbi|imam|undertaker|zookeeper|lead|tech lead|team lead|colorist|stylist|videographer|game designer|wheelchair user|"
    "\\w+woman|\\w{3,}(?<!hu)(?<!ger)man|\\w+maker|\\w+keeper|\\w+ologist|\\w+wright|\\w+smith|\\w+monger|\\w+grapher|\\w+ician|\\w+worker|\\w+blower|\\w+tuner|\\w+setter|\\w+layer|\\w+sitter|\\w+walker|\\w+cutter|\\w+binder|\\w+master|\\w+herd|"
    "executive assistant|carer|caregiver|nanny|au pair|babysitter|merchant|shopkeeper|grocer|retailer|wholesaler|importer|exporter|operator|dispatcher|logistician|hacker|maintainer|contributor"
)
LIKE = _any(
    "prefer|like|love|enjoy|adore|hate|dislike|detest|loathe|despise|can't stand|cannot stand|can't bear|don't like|do not like|don't care for|don't enjoy|don't love|don't eat|do not eat|don't drink|"
    "do not drink|don't use|don't watch|don't wear|can't eat|cannot eat|can't drink|don't do|avoid|'m not a fan of|am not a fan of|'m not a big fan of|'m a fan of|'m a big fan of|'m a huge fan of|am a fan of|'m into|am into|'m really into|"
    "'m not into|'m keen on|am keen on|'m fond of|am fond of|'m crazy about|'m passionate about|am passionate about|'m obsessed with|'m addicted to|'m partial to|favour|favor|swear by|"
    "(?:'d|would) rather(?! (?:show|see|not|wait|talk|say|do it|be|know|hear|keep|stay|you) )|'d sooner|'d always|'d prefer|would prefer|never eat|never drink|never use|only eat|only drink|only use|only watch|only wear|gave up|quit|stopped eating|stopped drinking|fancy|"
    "don't mind|always order|always pick|always choose|always take|always go for|lean towards|lean toward|stick to|stick with|don't touch|am allergic to the idea of|find .{2,30} (?:boring|annoying|tedious|delicious|relaxing)"
)
DATE = _any(
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|tomorrow|tonight|today|yesterday|this (?:week|weekend|month|morning|afternoon|evening|year|summer|winter|spring|autumn|fall)|"
    r"(?:next|last) (?:week|weekend|month|year|summer|winter|spring|autumn|fall|term|semester)|(?:\d{1,2}(?:st|nd|rd|th)?(?: of)? )?(?:january|february|march|april|june|july|august|september|october|november|december|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\.?(?: \d{1,2}(?:st|nd|rd|th)?)?\b|"
    r"(?:\d{1,2}(?:st|nd|rd|th)?(?: of)? )may\b|\bmay \d{1,2}\b|in may\b|\d{1,2}/\d{1,2}(?:/\d{2,4})?|20\d\d-\d\d(?:-\d\d)?|in 20\d\d|the \d{1,2}(?:st|nd|rd|th)|q[1-4]\b|christmas|easter|new year|thanksgiving|ramadan|diwali|hanukkah"
)
OCCASION = _any(
    "appointment|interview|exam|exams|test|finals|meeting|call|trip|flight|train|holiday|vacation|wedding|conference|concert|gig|show|party|dinner|lunch|presentation|demo|talk|"
    "deadline|surgery|operation|check-up|checkup|scan|recital|competition|tournament|match|race|marathon|half marathon|festival|reunion|graduation|ceremony|visit|workshop|course|class|"
    "hearing|viewing|move|retreat|camp|hike|cruise|audition|viva|defence|defense|due date|anniversary|birthday|reservation|booking|session|onboarding|review|sprint|standup|ielts|toefl|"
    "driving test|visa|vaccination|dentist|optician|haircut|delivery|funeral|christening|baptism|bar mitzvah|stag do|hen do|webinar|hackathon|meetup|parents' evening|school play|kick-off|kickoff"
)
PROJECT = _any(
    "project|repo|repository|codebase|code base|team|client|customer|company|organisation|organization|department|squad|product|app|application|api|apis|endpoint|endpoints|service|services|"
    "system|platform|website|site|database|backend|frontend|back end|front end|branch|commit|commits|pull request|pull requests|prs|release|releases|deploy|deploys|deployment|deployments|"
    "build|builds|ci|pipeline|production|prod|staging|migration|migrations|schema|code|tests|budget|contract|sla|spec|module|package|dependency|dependencies|library|logs|docs|"
    "documentation|config|merge|merges|sprint|backlog|ticket|tickets|review|reviews|stakeholder|stakeholders|vendor|sponsor|monorepo|workspace|firm|office|data|report|reports|invoice|invoices|server|servers|cluster|infra|feature|features|mvp|roadmap"
)
MUST = _any(
    "must|must not|mustn't|has to|have to|needs to|need to|needs|may not|may only|cannot|can not|can't|can only|should never|should always|never|always|only|no|not allowed|isn't allowed|"
    "aren't allowed|is forbidden|are forbidden|is banned|are banned|is required|are required|requires|require|required|is mandatory|are mandatory|mandatory|is prohibited|prohibits|insists|insist|"
    "demands|demand|wants|is capped|are capped|capped at|limited to|is limited|at most|at least|maximum|minimum|under no circumstances|off limits|off-limits|don't|do not|doesn't|does not|"
    "shall|forbids|has asked|asked that|expects|policy|rule|convention|standard|frozen|won't accept|ought to|strictly|is to|are to"
)
DECIDED = _any(
    "decided|agreed|settled on|settled|chose|chosen|have chosen|opted|picked|went with|gone with|are going with|'re going with|'ll go with|will go with|are switching|'re switching|switched|are moving to|"
    "'re moving to|moved to|voted|concluded|signed off|signed off on|resolved|are dropping|'re dropping|dropped|are adopting|'re adopting|adopted|standardised on|standardized on|ditched|"
    "scrapped|landed on|committed to|are replacing|'re replacing|replaced|approved|finalised|finalized|ruled out|migrated|made the call|are keeping|'re keeping|are sticking with|'re sticking with|are ditching|'re ditching|(?:'re|are) (?:postponing|delaying|cancell?ing|rewriting|rebuilding|splitting|merging|keeping|removing|retiring|deprecating|outsourcing|freezing|cutting|pausing|launching with|shipping with)|abandoned|postponed|pushed back"
)
PHASE = _any(
    "alpha|beta|closed beta|open beta|private beta|public beta|phase|stage|pilot|prototype|prototyping|discovery|planning(?= (?:phase|stage)|$)|design(?= (?:phase|stage)|$)|development|testing|qa|uat|staging|production|launch|launched|"
    "live|rollout|maintenance|soft launch|feature freeze|code freeze|release candidate|sprint|milestone|mvp|preview|early access|general availability|ga|trial|migration|review(?= (?:phase|stage)|$)|handover|"
    "tender|procurement|construction|private preview|canary|refactor|research|on hold|paused|wind-down|kickoff|integration"
)
RELEASED = _any(
    "development|testing|construction|implementation|training|production|coding|integration|public beta|closed beta|final version|full release|launch|release|ship|ships|go live|goes live|go-live|rollout|roll out|general availability|ga|deploy|deployment|finish|complete|completion|delivery|deliver|handover|cutover|beta|"
    "migration|start|kick off|kickoff|milestone|phase|mvp|public release|v\\d[\\d.]*|version \\d[\\d.]*|submit|submission|publish|open|opening|pilot|demo|end|wrap up|move"
)
STYLE = _any(
    "answer|answers|reply|replies|respond|response|responses|write|speak|talk|call me|address me|tone|style|english|german|french|spanish|italian|chinese|japanese|portuguese|dutch|korean|russian|"
    "language|bullet|bullets|table|tables|list|lists|short|brief|concise|detailed|verbose|emoji|emojis|comments|format|markdown|celsius|fahrenheit|metric|imperial|units|formal|informal|casual|"
    "code snippets|explain|explanations|examples|step by step|rhymes|humour|humor|jokes|plain text|headings|lowercase|beginner|expert|novice|layman|layperson|jargon|acronyms|citations|sources|diagrams|summary|summaries"
)
TONGUES = _any(
    "english|french|german|spanish|italian|portuguese|dutch|polish|czech|russian|ukrainian|greek|turkish|arabic|hebrew|persian|farsi|hindi|urdu|bengali|punjabi|tamil|telugu|mandarin|cantonese|"
    "chinese|japanese|korean|vietnamese|thai|malay|indonesian|tagalog|swahili|yoruba|zulu|amharic|swedish|norwegian|danish|finnish|icelandic|welsh|irish|gaelic|catalan|basque|"
    "romanian|hungarian|bulgarian|serbian|croatian|latin|esperanto|sign language|asl|bsl|braille|morse code"
)
CRAFT = _any(
    "speak|read|write|code|program|play|cook|bake|draw|paint|sew|knit|crochet|drive|ride|ski|snowboard|skate|surf|sail|swim|dive|dance|sing|juggle|type|touch-type|fly|weld|solder|"
    "debug|administer|edit videos|edit video|edit audio|photograph|repair|tune|teach|lip-read|whistle|climb|fence|shoot|fish|garden|mix|produce|compose|arrange|sculpt|carve|brew|model|animate|translate|interpret|script|design|operate|wire|use(?= (?-i:[A-Z])[\\w.+#-]*(?!.* now))"
)

_NOT_HUMAN = _any(
    "duck|rubber duck|goose|potato|robot|android|alien|martian|unicorn|dragon|wizard|witch|vampire|werewolf|ghost|zombie|mermaid|goblin|troll|elf|hobbit|jedi|ninja|pirate|superhero|toaster|fridge|"
    "houseplant|cactus|raccoons?|squirrels?|octopus|octopuses|penguins?|goldfish|hamsters?|walrus|badgers?|pigeons?|seagulls?|lizards?|dinosaur|t-rex|brick|rock|mushroom|cabbage|turnip|banana|sandwich|"
    "hologram|simulation|figment|time traveller|time traveler|cyborg|clone|spreadsheet|magic 8 ball|coffee machine|llama|lemming|gremlin|demon|king|queen|emperor|pharaoh|pope|batman|superman|sherlock holmes"
)
_HUMAN = r"(?:i'm|i am|(?:my|our)\s+(?:\w+\s+)?(?:boss|manager|husband|wife|brother|sister|mum|mom|dad|mother|father|colleague|coworker|co-worker|teammate|landlord|neighbour|neighbor|teacher|ceo|cto|team|client|lawyer|doctor|therapist|supervisor|mentor|flatmate|roommate)(?:'s| is| are))"
ABSURD = (
    rf"\b{_HUMAN}\s+(?:actually |really |basically |secretly |just |literally |technically |in fact |probably |obviously )*(?:an? |the |two |three |four |five |several |half |made of )(?:[\w-]+ ){{0,3}}?{_NOT_HUMAN}(?!-|\s+(?:owner|breeder|keeper|fan|lover|trainer|collector|engineer|developer|programmer|enthusiast|parent|person|maker|rescuer|player|of a)\b)\b"
    r"|\b(?:my|our) (?:cat|dog|hamster|goldfish|parrot|rabbit|plant|toaster|pet \w+) (?:is (?:the|our|my) (?:ceo|boss|manager|cto|lead)|runs|manages|owns|files|approves|codes|programs|writes|reviews|does my)\b|\bpet (?:dragon|unicorn|dinosaur|phoenix)\b|\braised by (?:wolves|bears|robots|aliens)"
    r"|\b(?:live|living|based|born|from|home) (?:in|on|from|is) (?:the (?:moon|sun|dark side of)|mars|venus|jupiter|narnia|mordor|hogwarts|atlantis|middle-earth|a (?:volcano|black hole|parallel universe))|\bi(?:'m| am) (?:over )?(?:[2-9]\d\d|1[3-9]\d|\d{4,}|a (?:hundred|thousand|million)|\w+ (?:hundred|thousand|million)) years old"
    r"|\ballergic to (?:mondays?|work|meetings|mornings|deadlines|people|effort|exercise)|\bdon't tell anyone\b.*(?:raccoon|alien)|\bi (?:can|could) (?:fly$|teleport|read minds|talk to ghosts)|\b(?:took over|rule|conquered) the (?:world|galaxy)"
)

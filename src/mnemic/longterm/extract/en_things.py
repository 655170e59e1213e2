# ruff: noqa: E501 (one rule a row is easier to review than wrapped patterns)
"""What does an English speaker state about a project, a system, a team or a thing of his own?

"The Heron dev server runs on port 8080" is a memory, "Redis runs on port 6379" is general knowledge: the
thing must be marked as the speaker's (our, the staging server) or bear a name the world does not know.
"""

from __future__ import annotations

from mnemic.longterm.extract.rule import Row
from mnemic.longterm.extract.rule import alternatives as _any

KNOWN = _any(
    "python|java|javascript|typescript|kotlin|swift|rust|golang|go|ruby|php|perl|scala|haskell|html|css|sql|node|node\\.js|deno|bun|react|vue|angular|svelte|django|flask|fastapi|rails|laravel|spring|"
    "redis|postgres|postgresql|mysql|mariadb|sqlite|mongodb|mongo|cassandra|dynamodb|elasticsearch|elastic|kafka|rabbitmq|nginx|apache|caddy|docker|podman|kubernetes|k8s|etcd|helm|terraform|ansible|"
    "jenkins|git|github|gitlab|bitbucket|linux|ubuntu|debian|fedora|windows|macos|ios|android|chrome|chromium|firefox|safari|edge|opera|amazon|aws|azure|google|gmail|microsoft|apple|meta|facebook|"
    "instagram|whatsapp|twitter|x|youtube|tiktok|netflix|spotify|uber|airbnb|tesla|intel|amd|nvidia|samsung|sony|ibm|oracle|sap|openai|chatgpt|gpt|claude|gemini|copilot|llama|slack|zoom|teams|notion|"
    "figma|jira|trello|asana|excel|word|outlook|powerpoint|wikipedia|stripe|paypal|visa|mastercard|bitcoin|ethereum|mars|venus|jupiter|saturn|earth|europe|asia|africa|america|england|britain|scotland|wales|"
    "ireland|france|germany|italy|spain|portugal|china|japan|india|russia|canada|mexico|brazil|australia|london|paris|berlin|tokyo|beijing|rome|madrid|new|north|south|east|west|san|los|mount|lake|"
    "http|https|ssh|smtp|imap|dns|ftp|tcp|udp|tls|ssl|json|yaml|xml|rest|graphql|grpc|usb|hdmi|bluetooth|wifi|wi-fi|tensorflow|pytorch|numpy|pandas|webpack|vite|npm|pip|maven|gradle|vim|emacs|vscode|"
    "harry|shakespeare|god|monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april|may|june|july|august|september|october|november|december|christmas|easter"
)
_NOT_NAMES = _any(
    "i|i'm|i've|i'd|i'll|it|it's|its|he|she|we|they|you|your|our|my|his|her|their|the|this|that|these|those|there|here|what|which|who|whose|where|when|why|how|if|and|but|or|so|a|an|one|each|every|"
    "all|some|any|no|nobody|everyone|everything|something|nothing|yes|hi|hello|hey|ok|okay|thanks|please|today|tomorrow|yesterday|now|then|also|as|at|in|on|for|from|with|after|before|while|because|"
    "currently|right|just|only|not|do|does|did|is|are|was|were|can|could|would|should|will|may|might|must|let|let's|most|many|both|next|first|last"
)
_NAMED = rf"(?!(?:{KNOWN}|{_NOT_NAMES})(?:'s)?(?=[\s,]))(?:(?:project|app|repo|service|client|team)\s+)?(?-i:[A-Z][\w-]+(?:\s(?:[A-Z][\w-]*|\d[\d.]*))?|'[A-Z][^'\n]{{1,20}}')"
_THING = _any(
    "server|servers|database|db|repo|repository|repositories|codebase|budget|deadline|standup|stand-up|daily|sync|weekly|retro|retrospective|planning|sprint|sprints|release|releases|version|branch|port|"
    "domain|url|endpoint|api|api key|access key|signing key|phone number|token|region|cluster|bucket|queue|topic|team|channel|board|backlog|pipeline|ci|docs|documentation|wiki|dashboard|environment|instance|rota|licen[cs]e|"
    "logo|colou?r|frontend|front end|backend|back end|app|application|website|site|service|project|company|firm|department|newsletter|code ?name|timeout|rate limit|limit|"
    "quota|retention|schedule|job|cron job|backup|backups|tests|test suite|stack|cache|log|logs|registry|warehouse|hotline|weekly meeting|office hours|opening hours|working hours|core hours|bill|hosting bill|costs?|customers|users|clients|audience|sponsor|investor|review|demo|kick-?off|client|customer|supplier|vendor|"
    "host|hosting|provider|plan|size|headcount|format|locale|currency|time ?zone|tag|prefix|owner|maintainer|warehouse|factory"
)
_MINE = (
    rf"(?:our\s+(?:[\w'.-]+\s+){{0,3}}?{_THING}|(?:the|our)\s+(?:[\w.-]+\s+){{0,2}}?(?-i:[A-Z])[\w-]+(?:'s)?\s+(?:[\w-]+\s+){{0,2}}?{_THING}"
    rf"|the\s+(?:[\w'.-]+\s+){{0,3}}?{_THING}\s+(?:of|for|on|in|at)\s+(?:(?:our|the)\s+[\w-]+(?:\s[\w-]+)?|{_NAMED})"
    rf"|the\s+(?:team|project|repo|company|app|client)'s\s+(?:[\w-]+\s+){{0,2}}?{_THING}"
    r"|the\s+(?:dev|development|staging|test|testing|build|ci|production|prod|backup|internal|local|demo|mail|file|print|jump|on-call|default|main|release|master)\s+(?:[\w-]+\s+){0,2}?(?:server|database|db|branch|environment|instance|cluster|box|machine|host|bucket|queue|registry|port|channel|budget|phone|number|runner|site|url|key)"
    r"|(?:the|our)\s+(?:[\w-]+\s+)?(?:stand-?up|daily|retro|retrospective|sprint length|code ?name|code freeze|server room|meeting room|team size|headcount|release cadence|cloud budget|monthly budget|project budget)"
    rf"|{_NAMED}'s\s+(?:[\w-]+\s+){{0,3}}?{_THING})"
)
_NUMBER = r"(?:(?:about |around |roughly |exactly |only |now |currently |at most |up to )?(?:[$€£]\s?)?(?:\d[\w.,:/%€$£-]*|(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|twenty|thirty|forty|fifty|sixty|eighty|ninety|half|a hundred|a thousand)\b))"
_VALUE = (
    rf"(?:{_NUMBER}|(?-i:[A-Z])[\w.&+-]+|(?:called|named|written|built|based|hosted|deployed|located|licensed|set to|set up|tracked|stored|kept|owned by|run by|led by|managed by|sponsored by|paid by|due)\b.*\S"
    rf"|(?:on|in|at|from|behind|under|next to|with|every|until|to|between|mostly|mainly|primarily|all)\s+(?:the |a |an |our |my |port )?(?!fire\b|trouble\b|risk\b|hold\b|progress\b|general\b|fact\b|need\b|place\b|use\b|it\b|this\b|that\b|all\b|its\b|top\b|track\b|your\b|danger\b|charge\b|order\b|question\b)\S"
    r"|[\w]+[_./-][\w./-]+|(?:the )?(?:end|middle|beginning|start|first|second|third|last|\d+\w\w)\b\s+\S|(?-i:[a-z])[\w-]+$)"
)
_STATE = r"(?!(?:very |too |so |really |still |just |now |currently |quite |a bit |always |often )*(?:down|slow|broken|fast|good|bad|great|fine|big|small|huge|tight|tough|hard|easy|ready|done|late|early|close|closed|open|empty|full|important|wrong|right|ok|okay|nice|busy|happy|stuck|here|there|approaching|failing|crashing|growing|not|what|why|how|like|being|getting|going|running(?! on)|working|due soon|unclear|unknown|gone|off|up|back|missing|over|flaky|messy|dead|strong|weak|expensive|cheap|critical|essential|crucial|key|more|less)\b)"
_BE = r"(?:'s|\s+(?:is|are|was|will be|remains?|stays?))\s+(?:now |currently |still |just |always |at present |at the moment )*"
_GO = r"\s+(?:now |currently |still |just |also |always )*(?:has |have |was |were |got )?(?:been )?(?:moved? to|moves to|changed? (?:to|from)|changes to|switched to|raised to|increased to|went up to|grew to|grows to|rose to|cut to|reduced to|dropped to|lowered to|shrank to|extended to|pushed (?:back )?to|postponed to|brought forward to|renamed to|runs?(?: on| at| in| from| every)|lives?(?: on| in| at| under)|sits?(?: on| in| at| behind)|listens? on|costs?|rotates? every|expires? (?:in|on|after|every)|starts? (?:at|on|every)|ends? (?:at|on)|closes? (?:at|on)|opens? (?:at|on)|meets?|takes? place|holds?|counts?|consists? of|points? (?:to|at)|keeps? (?:its|our|all|the)|stores? (?:its|our|all|the)|deploys? (?:to|on|every)|uses?|supports?|targets?|talks? to|writes? to|reads? from|syncs?|belongs to|needs? at least|has|have|lasts?|comes? with|covers?|serves?|ships? (?:every|on)|allows?|handles?)\s+(?!it\b|this\b|that\b|them\b|you\b|an? (?:bug|error|problem|issue|lot|question)|some\b|to\b|been\b|more\b|become\b|no \w+ problem)"
_WORLD = r"(?![^?!]{0,120}\b(?:by default|usually|typically|in general|generally|per definition|famous|invented|must|may not|has to|have to|not allowed|never|decided|policy|rule|requirement|convention)\b)"

THINGS: tuple[Row, ...] = (
    ("thing", "fact", "project", _WORLD + rf"(?:as of [\w ]+, |from [\w ]+ on, |since [\w ]+, )?{_MINE}(?:{_BE}{_STATE}(?:an? |the )?{_VALUE}|{_GO}\S)", ""),
    ("thing", "fact", "project", _WORLD + rf"{_NAMED}\s+(?:now |currently |still )*(?:(?:runs?|listens?|lives?|sits)\s+(?:on|at|in|under)\s+(?:port|version|the|our|a|an|\d|(?-i:[A-Z]))|is\s+(?:now |currently |still )*(?:at|on)\s+(?:version|port|v?\d)|is\s+(?:now |currently |still )*(?:hosted|deployed|written|built|licensed|funded|sponsored|maintained|owned)\s+\S|has\s+(?:now |about |around |over )*{_NUMBER}\s+(?:active |paying |core |regular |daily |monthly |full-time |beta )*(?:contributors?|developers?|users|customers?|members|people|engineers?|maintainers?|testers?|clients|volunteers|employees|stars|services|servers|modules|endpoints|tables|pages|stores|shops)\b|(?:keeps|stores)\s+(?:its|all|the|our)\s+\S|(?:supports?|handles?|covers?|serves?|speaks?|includes?)\s+(?:now |over |about )?{_NUMBER}\s+\S|costs?\s+(?:us )?{_NUMBER}\s+\S|uses\s+\S[^?!]*(?:for|as)\s+(?:its|the|our|storage|search|auth\w*|logging|tests|ci)\b)", ""),
    ("thing", "fact", "project", rf"(?:there are|there's|we are|we're|we have|we've got)\s+(?:now |currently |only |about )*{_NUMBER}\s+(?:of us\b|(?:[\w-]+\s+){{0,2}}?(?:people|developers?|engineers?|members|designers?|testers?|colleagues|employees|staff|servers|environments|offices|branches|repos|repositories|customers|stores|shops|warehouses|machines|vans)\b)(?![^?!]*\b(?:in the world|worldwide|at the party|coming)\b)", ""),
    ("thing", "fact", "project", rf"(?:our|the)\s+(?:\w+\s+)?(?:team|company|department|group|office|club|project)\s+(?:now |currently )*(?:has|counts|consists of|is made up of|employs|numbers|has grown to|grew to|shrank to)\s+(?:now )?{_NUMBER}\b", ""),
    ("thing", "fact", "project", r"we\s+(?:now |currently |also )*(?:host|deploy|run|store|keep|track|document|log|back up|build|develop|test)\s+(?:our|all|the|everything)\b[^?!]{0,40}?\s(?:on|in|at|to|with|via|through|under)\s+(?!it\b|this\b|that\b|them\b|the way\b|order\b)\S", ""),
    ("possession", "fact", "user", _WORLD + rf"(?:my|our)\s+(?!favou?rite\b|preferred\b|go-to\b|usual\b)(?:[\w'.-]+\s+){{0,3}}?(?:printer|router|nas|wi-?fi|server|website|blog|domain|boat|bike|car|van|camera|laptop|phone|tablet|monitor|keyboard|guitar|piano|violin|oven|boiler|thermostat|parcel locker|gate|garage|allotment|subscription|contract|lease|rent|insurance|passport|visa|licen[cs]e|shop|store|studio|landlord|bank|flat|house|room|desk|repo|repository|dotfiles|editor|shell|keyboard layout|backup)(?:{_BE}{_STATE}(?:an? |the )?{_VALUE}|\s+(?:runs?(?: on| at)|costs?|expires?|sits|ends|renews)\s+(?!it\b|this\b|that\b|into\b|out\b)\S)", ""),
)  # fmt: skip

# ruff: noqa: E501 (one rule a row is easier to review than wrapped patterns)
"""What do English statements, wishes and rules look like?"""

from __future__ import annotations

import re
from functools import cache

from mnemic.longterm.extract import en_words as w
from mnemic.longterm.extract.rule import INFERRED, STATED, Language, Rule, compiled
from mnemic.model import MemoryType, Scope

_NAMES = {
    "I": r"i(?:\s+|(?='(?:m|d)\b))" + w.ADVERBS,
    "IM": r"i(?:'m|\s+am|'ve been|\s+have been)\s+" + w.ADVERBS,
    "IHAVE": r"i(?:'ve|\s+have)?\s+" + w.ADVERBS,
    "WE": r"(?:we|the team|our team|the company|our company|management|my team|the group|the board|everyone|the client|both sides|my company)(?:'ve|\s+have|\s+has)?\s*" + w.ADVERBS,
    "Name": r"(?-i:[A-Z][\w'’-]+(?: (?:[A-Z][\w'’-]+|de|van|von|der|da|la|al|bin)){0,3})",
    "DEICTIC": r"(?:it|that|this|these|those|them|him|her|you|your|the (?:idea|way|answer|plan|suggestion|first|second|third|last|sound|look|result|one|ones|concept|approach|option|design|new|following)|how|what|when|where|both|all of|to (?:see|know|hear|ask|think|say|understand|get|be able|have|discuss|add|start|try|make sure|share|thank)|hearing|seeing|knowing|talking|working with you|some|being able)",
    **{name: getattr(w, name) for name in ("KIN RELATION ADVERBS ROLE LIKE DATE OCCASION PROJECT MUST DECIDED PHASE RELEASED STYLE TONGUES CRAFT").split()},
    "AFTER": r"(?:from (?:now|here|today|this point) on(?:wards?|ward)?|going forward|moving forward|in (?:the )?future|henceforth|by default|from here on out|from today|as of (?:now|today)|starting (?:now|today))",
    "BASE": r"(?:use|give|show|write|answer|reply|respond|put|keep|call|address|start|end|begin|include|add|avoid|leave|skip|omit|assume|speak|talk|format|send|ask|tell|explain|cite|check|run|treat|provide|suggest|recommend|offer|return|list|sort|remind|be|make|stick|stop|refer|convert|round|quote|spell|name|pick|choose|prefer|present|display|mention|say|sign|tag|comment|document|default|set|do|don't|never|no|please|only|go|schedule|book|order|link|limit|summari[sz]e|wrap)",
    "NUM": r"(?:\d+|a couple of|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|several|many|a few|one)",
}

# name, type, scope, pattern, flags (r: runs to the end of the sentence, t: with its topic, w: a wish, s: soft)
_TABLE: tuple[tuple[str, MemoryType, Scope, str, str], ...] = (
    ("nickname", "preference", "user", r"(?:(?:please|just|you can|you may|everyone can|feel free to|so|always|do|but|everyone|people|friends|my friends|most people|they|all)\s+){0,3}(?:call|calls)\s+me\s+(?!back|at|when|if|on|in|tomorrow|later|crazy|a |an |now|tonight|again|out|old|stupid|by phone|for|up|today)\S", "w"),
    ("nickname", "preference", "user", r"i\s+(?:usually\s+|just\s+|mostly\s+)?(?:go by|answer to|'d like to be called|prefer to be called|prefer being called|'d rather be called)\s+\S|(?:my )?pronouns are\s+\S|my pronouns\s+\S", "w"),
    ("nickname", "preference", "user", r"(?:please )?(?:stop|quit|don't|do not|never) call(?:ing)? me\s+\S", "w"),
    ("name", "fact", "user", r"my\s+(?:full |first |last |given |family |middle |maiden |real |legal |stage |pen )?(?:name|surname|username|handle)(?:'s|\s+is)\s+(?!not\b|on\b|in\b|what\b)\S", ""),
    ("name", "fact", "user", r"(?:i'm|i am|this is|it's)\s+(?!(?-i:I|Sorry|Sure|Good|Great|Fine|Not|Here|Back|Done|OK|Ok|Okay|So|Just|Happy|Glad|Ready|Trying|Using|Working|Looking|Very|Really|Also|Thinking|Still|Currently|Going|Getting|Interested|Curious|Confused|Wondering|New|All|Planning|In|At|On|Now|Only|Running|Learning|Having|From|Like|Hi|Hello|Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday|January|February|March|April|May|June|July|August|September|October|November|December)\b)(?-i:[A-Z][a-z'-]+(?: (?:[A-Z][\w'-]+|de|van|von|der|da|la|al|bin))*)(?=$|\s+(?:and|from|by the way|here|speaking|again)\b)(?<!\bGod)", ""),
    ("standing_wish", "preference", "user", r"(?:(?:please|so|and|ok|okay|can you|could you|would you|i want you to|i need you to|i'd like you to|i would like you to|you should|you must|you can|make sure(?: that)?(?: you)?(?: to)?|be sure to|ensure you|let's|just)[,\s]+){0,4}{AFTER},?\s+(?!we(?:'re| are| have| will|'ll)\b|i(?:'ll| will|'m| am| plan| hope| want to)\b)\S", "rw"),
    ("standing_wish", "preference", "user", r"(?:(?:please|so|and|ok|okay|can you|could you|would you|will you|i want you to|i need you to|i'd like you to|i would like you to|you should|you must|you can|make sure(?: that)?(?: you)?(?: to)?|be sure to|ensure you|just)[,\s]+){0,4}(?:always|never|don't ever|do not ever)\s+(?!mind\b|been|had|have i|knew|thought|heard|seen|gets?\b|is\b|was\b|a\b|the\b|again\b|forget\b|underestimate|look back)[a-z]\w*\b", "rw"),
    ("standing_wish", "preference", "user", r"(?:(?:please|so|and|can you|could you|you|just)[,\s]+){0,3}(?:{BASE})\b[^.!?]{2,90}?\b(?:{AFTER}|every time|each time|at all times|whenever|in all (?:your |future )?(?:answers|replies|responses)|in every (?:answer|reply|response|message)|when(?:ever)? (?:you|we) (?:write|talk|speak|reply|answer|send|chat|give|suggest|recommend|explain)|when(?:ever)? i (?:ask|say|send|paste|mention|request))\b", "rw"),
    ("standing_wish", "preference", "user", r"(?:whenever|every time|each time|any time|anytime)\s+(?:i|you|we)\s+(?:ask|say|send|paste|write|mention|request|share|give|answer|reply|suggest|recommend|talk|speak|respond|want|need|greet|call)\b(?:[^?!,]{0,80},\s*\S+)?", "rw"),
    ("standing_wish", "preference", "user", r"(?:when|if)\s+i\s+(?:ask|say|send|paste|mention|request)\b[^.!?]{2,80}?,\s*(?:please\s+)?(?:always|never|{BASE})\b", "rw"),
    ("standing_wish", "preference", "user", r"(?:please\s+)?(?:stop|quit)\s+(?:using|calling|adding|sending|writing|suggesting|giving|asking|putting|recommending|apologi[sz]ing|repeating|saying|including)\b", "rw"),
    ("standing_wish", "preference", "user", r"i(?:'d| would)\s+(?:rather|prefer(?: it)? if|like it if)\s+you\b|i\s+(?:want|need|expect|like)\s+(?:you to\s+(?:always|never)|(?:all )?(?:your|my) (?:answers|replies|responses|summaries|code|explanations))\b", "rw"),
    ("allergy", "fact", "user", r"(?:{IM})(?:severely |mildly |badly |highly )?(?:allergic|intolerant|lactose[- ]intolerant|gluten[- ]intolerant|coeliac|celiac)\b|i\s+(?:have|get|suffer from)\s+(?:a |an |really |bad )*(?:\w+\s+){0,3}(?:allergy|allergies|hay fever|intolerance)\b", ""),
    ("decision", "decision", "project", r"(?:(?:after|following|in|at|during|yesterday|today|last|this|on|with)\b[^?!]{0,40}?,?\s)?(?:{WE})(?:{DECIDED})\b(?!\s+(?:what|whether|if|yet)\b)", "rt"),
    ("decision", "decision", "project", r"(?:it's|it is|it has been|it was|that's|the) (?:decided|agreed|settled|final|decision(?: is| was)?|verdict(?: is| was)?)\b|decision[:\s]|final decision\b|(?:the )?(?:vendor|stack|plan|layout|design|approach|name|logo|budget|scope|date|venue)\s+(?:has been|is now|was|is|got)\s+(?:decided|agreed|approved|chosen|settled|final|finalised|finalized|fixed|locked)", "rt"),
    ("decision", "decision", "project", r"(?:{WE})(?:(?:'re|are|will|'ll)\s+){1}(?:no longer\s+\w+|be (?:using|dropping|replacing|moving|switching)|going (?:with|back to|for)|staying (?:with|on)|stick(?:ing)? (?:with|to)|use|drop|skip)\b", "rt"),
    ("decision", "decision", "user", r"i(?:'ve| have)?\s+(?:finally |just |already |now )*(?:decided (?!not sure)(?:to|on|against|that|not to)|chosen to|made up my mind|settled on|opted for)\b", "r"),
    ("phase", "context", "project", r"(?:(?:the |our |this |my )?[\w' -]{0,40}?(?:{PROJECT})|project\s+\S+|(?-i:[A-Z])\S+(?:\s(?-i:[A-Z])\S+)?|we)(?:\s+(?:is|are|'re|has|have|'s)|'s|'re)\s+(?:now |currently |still |just |already |officially |moved |entered |reached |at |presently |about to enter |almost |nearly ){0,3}(?:in|at|entering|in the middle of|out of|through|on|live|finished|under|past|into)?\s*(?:the |a |an |our |its )?(?:[\w-]+\s+){0,2}?(?:{PHASE})\b", "r"),
    ("plan", "context", "project", r"[^?!]{0,60}?\b(?:{RELEASED})\b[^?!]{0,30}?\b(?:is|are|was)\s+(?:now |currently |still |tentatively )?(?:planned|scheduled|slated|due|set|expected|targeted|on track|aimed|pencilled in|fixed|moved|pushed|delayed)\b", "rt"),
    ("plan", "context", "project", r"(?:we|the team|our team|the company|the client)(?:'re|\s+are|\s+is)?\s+(?:planning|plan|plans|aim|aims|aiming|intend|expect|hope|hoping|want|going|due|scheduled|targeting|target|launch|ship|release|go live|roll out|will|'ll)\b[^?!]{0,60}?\b(?:{RELEASED}|{PHASE})\b[^?!]{0,40}?(?:{DATE})", "r"),
    ("deadline", "context", "project", r"(?:the |our |my |project |final |submission |delivery )*(?:[\w-]+ ){0,3}?(?:deadline|due date|launch date|go-live date|release date|target date|delivery date|kick-?off)(?: for [^?!]{2,50}?)?\s+(?:is|are|was moved to|has moved to|moved to|got moved to|got pushed to|will be|falls on)\s+\S", "r"),
    ("building", "context", "project", r"(?:i'm|i am|we're|we are|i've been|we've been|i have been|my team is|our team is)\s+(?:now |currently |also |still |just |busy )*(?:building|developing|working on|creating|designing|writing|migrating|refactoring|launching|organi[sz]ing|running|leading|rewriting|porting|maintaining|prototyping|renovating|co-writing)\s+(?!it\b|this\b|that\b|them\b|on it|some\b|something\b|these\b|into|out|late|errors?)(?:a|an|the|our|my|two|several|\w+)\b", "r"),
    ("people", "fact", "user", r"(?:{RELATION})(?:'s|\s+(?:is|was|are|were|has|have))\s+(?:{ADVERBS})(?:(?:turning|turned|almost|nearly|about)\s+)?(?!here\b|coming\b|calling|on (?:his|her|the) way|right\b|wrong\b|fine\b|ok\b|angry|mad\b|sleeping|barking|annoying|being\b|acting|asking|waiting|going to (?:be|kill|love|hate)|sick of|driving me|visiting (?:now|today))\S", ""),
    ("people", "fact", "user", r"(?:{RELATION})(?:'s)?\s+(?:name|birthday|surname|last name|nickname|school|job|wedding|allerg\w+|favou?rite \w+|hobby|due date|address|number|email|exam|graduation|dog|cat)\s+(?:is|are|was)\s+\S", ""),
    ("people", "fact", "user", r"(?:{RELATION})(?:\s+and\s+(?:i|my \w+))?\s+(?:{ADVERBS})(?:lives?|works?|loves?|likes?|hates?|enjoys?|adores?|prefers?|dislikes?|can't stand|doesn't (?:like|eat|drink|speak|drive|use|want)|don't (?:like|eat|drink)|eats|drinks|speaks?|plays?|studies|study|teaches|teach|starts?|started|turns|turned|goes to|go to|moved|moves|graduated|graduates|works|runs|owns?|attends|joined|retired|suffers|needs (?:a wheelchair|glasses|insulin)|has|have|wears|collects|paints|cooks|wants to (?:be|become)|got (?:married|engaged|promoted|a job|accepted)|passed away|died|was born|supports|swims|rides|swears by|drives|flies|trains|practi[sc]es)\b(?!\s+(?:it|that|this|you)\b)", ""),
    ("people", "fact", "user", r"(?!(?:here|there|that|it|what|this|he|she|where|who|how|which|everything|nothing|something|one|monday|today|tomorrow)\b)(?:{Name})(?:'s|\s+is)\s+(?:my|our)\s+(?!favou?rite)\S|(?:{Name})\s+(?:works at|works for|works as|lives in|is the (?:lead|owner|head|manager|contact|ceo|cto|founder|product owner)|handles|owns|leads|runs)\s+\S", ""),
    ("constraint", "constraint", "project", r"(?:in|on|for|at|inside|within|across)\s+(?:this|our|the|my)\s+(?:[\w-]+\s+){0,2}?(?:{PROJECT})\b,?[^?!]{0,80}?\b(?:{MUST})\b", "rt"),
    ("constraint", "constraint", "project", r"(?:we|everyone|everybody|nobody|no one|all|every|any|each|no|only)\b[^?!]{0,90}?\b(?:{PROJECT})\b[^?!]{0,60}?\b(?:{MUST})\b", "rt"),
    ("constraint", "constraint", "project", r"(?:we|everyone|everybody|nobody|no one|all|every|any|each|no|only)\b[^?!]{0,60}?\b(?:{MUST}|may)\b[^?!]{0,60}?\b(?:{PROJECT})\b", "rt"),
    ("constraint", "constraint", "project", r"(?:the|our|their|this|my|company|a|one|per|as per|according to)?\s*(?:[\w'-]+\s+){0,3}?(?:{PROJECT})(?:'s)?\s+(?:[\w-]+\s+){0,2}?(?:{MUST})\b[^?!]{2,}", "rt"),
    ("constraint", "constraint", "project", r"(?:one|a|the|our|another|team|company|client|house|hard|strict|golden|first)\s+(?:[\w'-]+\s+){0,3}?(?:rule|requirement|policy|convention|constraint|restriction|guideline|limit|standard)s?\b(?:[^?!]{0,30}?)(?:\s+(?:is|are|says|here)|:|$)", "rt"),
    ("skill", "skill", "user", r"i\s+(?:can|can't|cannot|could)\s+(?:{ADVERBS})(?:{CRAFT})\s+(?!it\b|this\b|that\b|the (?:file|problem|issue|report|rest|same|following|code|test|tests|math)\b|so\b|them\b|these\b|better\b|more\b|something\b|anything\b|about\b|up\b|with that\b|to\b|you\b|sure\b|for\b|my\b|all\b|both\b)\S", ""),
    ("skill", "skill", "user", r"i\s+(?:can't|cannot|can)\s+(?:drive|swim|cook|sing|dance|ski|touch-type|type fast|sew|knit|draw|skate|juggle|whistle|ride a bike)(?=$|\s+(?:well|very|at all|a little))", ""),
    ("skill", "skill", "user", r"(?:{IM})(?:fluent|proficient|conversational|bilingual|trilingual|skilled|experienced|well[- ]versed|an? expert|a certified|certified|trained|qualified|licensed|competent|comfortable (?:with|in|using)|familiar with|good (?:at|with)|great at|excellent at|bad at|terrible at|hopeless at|decent at|adept)\b(?!\s+(?:that|this|it)\b)", ""),
    ("skill", "skill", "user", r"i\s+(?:{ADVERBS})(?:speak|understand)\s+(?:{ADVERBS})(?:\w+\s+){0,3}?(?:{TONGUES})\b|i\s+know\s+(?:some|a bit of|a little|basic|how to|enough|my way around)\s+\S", ""),
    ("skill", "skill", "user", r"(?:{IHAVE})(?:been\s+)?(?:coding|programming|writing|playing|using|working with|working in|practi[sc]ing|learning|studying|teaching|doing|developing|training|painting|drawing|cooking|baking|dancing|running|cycling|climbing|knitting|sewing|written|coded|played|worked with|used|taught|practised|practiced)\b[^?!]{1,60}?\bfor\s+(?:about |over |almost |nearly |more than |the past |the last |around |some )?(?:{NUM}|a)\s+(?:years?|months?|decades?)", ""),
    ("skill", "skill", "user", r"i(?:'ve| have)\s+(?:{ADVERBS})(?:got\s+)?(?:about |over |around |almost |nearly )?(?:{NUM}|\d+\+)\s*(?:\+\s*)?years?(?:'|\s+of)?\s+(?:experience|in|of)\b", ""),
    ("skill", "skill", "user", r"i\s+(?:have|hold|got|earned|passed|have got)\s+(?:a|an|my|the)\s+[\w' -]{0,40}?\b(?:licen[cs]e|certificate|certification|black belt|diploma|degree|master's|bachelor's|doctorate|phd|mba|grade \d)\b", ""),
    ("habit", "habit", "user", r"(?:every|each)\s+(?:single\s+)?(?:other\s+)?(?:day|morning|evening|night|week|weekend|month|year|spring|summer|autumn|fall|winter|(?:mon|tues|wednes|thurs|fri|satur|sun)day|lunch ?break)\b[^?!]{0,20}?\b(?:i|we)\s+(?!have an? error|get an? error|am\b|want)\w+", "r"),
    ("habit", "habit", "user", r"(?:on\s+)?(?:mon|tues|wednes|thurs|fri|satur|sun)days,?\s+(?:and\s+\w+days,?\s+)?(?:i|we)\s+\w+", "r"),
    ("habit", "habit", "user", r"(?:i|we)\s+(?!want|need|'d|would|will|'ll|am\b|was\b|have to|had|got\b|get an? error|can|could|should|think|saw|must)(?:{ADVERBS})(?!was\b|will\b)[a-z]+\b(?<!ed)[^?!]{0,80}?\b(?:(?:every|each)\s+(?!time|one|thing|body|where|possible|single thing|step)\w+|on (?:\w+ and )?(?:\w+day(?:s| mornings?| afternoons?| evenings?| nights?)|weekends|weekdays)|in the (?:mornings?|evenings)|(?:once|twice|{NUM} times) (?:a|per|every) (?:day|week|month|year)|before (?:bed|work|breakfast|sleep)|after (?:work|dinner|lunch|school)|at weekends|daily|weekly|most (?:days|mornings|evenings|nights|weekends))\b", "r"),
    ("habit", "habit", "user", r"i\s+(?:usually|typically|normally|generally|regularly|routinely|tend to|always|often|make a point of|am in the habit of|'m in the habit of|like to start my day|start my day|end my day|get up at|wake up at|go to bed at|commute|work out|meditate|journal)\s+(?!get an? error|gets?\b|an error|have trouble|have problems|wanted|thought|knew|loved|like\b|love\b|prefer|hate\b|enjoy|use\b|been|wonder|struggle|forget|feel\b|think\b|see\b|have been)\S", "r"),
    ("birthday", "fact", "user", r"(?:my|our|{RELATION}(?:'s)?)\s+(?:\w+\s+)?(?:birthday|anniversary|star sign)(?:'s|\s+(?:is|falls))\s+\S", ""),
    ("event", "event", "user", r"(?:i|we|i've|we've)(?:'ve)?\s+(?:{ADVERBS})(?:have|has|got|'ve got|booked|scheduled|arranged|planned|attend|attending|signed up for|registered for)\s+(?:got |to attend |booked |scheduled )?(?:a|an|my|our|the|two|another|tickets|[a-z']+)\s*[^?!]{0,60}?\b(?:{OCCASION})\b[^?!]{0,50}?(?:{DATE})", "r"),
    ("event", "event", "user", r"(?:i|we)(?:'m|'re|\s+am|\s+are|'ll be|\s+will be|'ll|\s+will)?\s+(?:{ADVERBS})(?:flying|fly|travel(?:l?ing)?|going|go|heading|head|moving|visiting|driving|leaving|leave|taking|presenting|speaking|getting married|getting|starting|start|meeting|interviewing|sitting|running|hosting|attending|having|off to|seeing|in)\b[^?!]{1,70}?(?:{DATE})", "r"),
    ("event", "event", "user", r"(?:my|our|{RELATION}(?:'s)?)\s+(?:next\s+)?(?:[\w'-]+\s+){0,4}?(?:{OCCASION})(?:\s+(?:with|at|for|in|to)\s+[^?!]{1,40}?)?\s*(?:is|are|'s|was moved to|got moved to|has been moved to|falls|starts|begins|takes place|will be|leaves|departs)\s+[^?!]{0,40}?(?:{DATE})", "r"),
    ("event", "event", "user", r"(?:on\s+|this\s+|next\s+)?(?:{DATE}),?\s+(?:i|we|i'm|we're|i've|we've)\s?(?:'m|'re|am|are|have|will|'ll|fly|leave|travel|move|start|present|get)\b[^?!]{2,}", "r"),
    ("event", "event", "user", r"(?:i|we)(?:'ve|\s+have)?\s+(?:just\s+|already\s+)?(?:booked|ordered|reserved|bought|paid|submitted)\b[^?!]{2,80}?(?:{DATE}|(?:reference|order|confirmation|booking|number)\b)", "r"),
    ("did", "event", "user", r"(?:i|we)\s+(?:{ADVERBS})(?:ran|swam|hiked|cycled|biked|climbed|finished|completed|passed|failed|met|visited|bought|sold|adopted|started|signed|moved|graduated|got (?:married|engaged|promoted|laid off|fired|hired|a new|my|the job|accepted|divorced)|won|lost my|quit my|resigned|retired|launched|published|gave birth|broke my|had (?:surgery|a baby|an operation)|attended|joined|flew|travell?ed|went (?:to|hiking|camping|skiing|fishing|on))\b[^?!]{0,70}?(?:{DATE}|\b(?:\w+ )?(?:days?|weeks?|months?|years?) ago)", "s"),
    ("did", "event", "user", r"(?:i|we)\s+ran\s+(?:{DATE})", "s"),
    ("preference", "preference", "user", r"(?:i|we)\s?(?:{ADVERBS})(?:{LIKE})\b\s+(?!{DEICTIC}\b)\S", ""),
    ("preference", "preference", "user", r"i(?:'ve| have)\s+(?:{ADVERBS})(?:loved|liked|hated|preferred|enjoyed|disliked|been (?:into|a fan of|fond of|vegan|vegetarian|obsessed with))\s+(?!{DEICTIC}\b)\S", ""),
    ("preference", "preference", "user", r"(?:{IM})(?:strictly |mostly |a strict |a lifelong |a )?(?:vegan|vegetarian|pescatarian|teetotal|halal|kosher|gluten[- ]free|dairy[- ]free|on a (?:keto|low[- ]carb|vegan|gluten[- ]free|plant[- ]based|mediterranean) diet|not (?:a|much of a|really a) \w+ (?:person|fan|drinker|eater)|more of an? [\w-]+ (?:person|fan|guy|girl|drinker)|an? [\w-]+ (?:person|lover|drinker|fan|fanatic|enthusiast|buff|nerd|aficionado)|not (?:really |that )?(?:into|fond of|keen on)|(?:really |very |so )?(?:into|fond of|keen on|passionate about|crazy about|obsessed with|addicted to))\b(?!\s+(?:this|that|it|you)\b)", ""),
    ("preference", "preference", "user", r"(?:i|we)\s+(?:keep|eat|follow)\s+(?:strictly\s+)?(?:a\s+)?(?:kosher|halal|vegan|vegetarian|keto|gluten[- ]free|plant[- ]based|low[- ]carb)\b", ""),
    ("preference", "preference", "user", r"my\s+(?:all-time\s+|absolute\s+|personal\s+)?(?:favou?rites?|preferred|go-to|usual|pet peeve|guilty pleasure|comfort food|editor of choice|weapon of choice|first choice|preference|hobby|hobbies|interests?|passion|taste)\b[^?!]{0,40}?(?:\s+(?:is|are|include|has always been|remains?|for)|:)\s+(?!{DEICTIC}\b)\S", ""),
    ("preference", "preference", "user", r"(?!(?:it|that|this|which|there)\b)[^?!]{2,60}?\b(?:is|are|remains?)\s+(?:still\s+|always\s+|by far\s+|definitely\s+)?(?:my\s+(?:go-to|favou?rite|first choice|preference|preferred|daily driver|comfort|thing|cup of tea|jam)|not my (?:thing|cup of tea)|the only [\w ]{2,30} i (?:use|drink|eat|like|trust))\b", ""),
    ("preference", "preference", "user", r"nothing (?:beats|compares to)\s+(?!that|this|it)\S|give me \S[^?!]{1,40} any ?day\b|(?:a|the|any) \S[^?!]{1,40} beats \S", "s"),
    ("preference", "preference", "user", r"i\s+(?:{ADVERBS})(?:mostly|always|only|exclusively|still|almost always|usually|generally|prefer to|like to)\s+(?:use|drink|eat|wear|buy|watch|listen to|read|code in|write in|work in|travel by|fly|cook with)\s+(?!it|this|that|them)\S", ""),
    ("identity", "fact", "user", r"(?:{IM})(?:an?|the|one of|your|not an?|half of)\s+(?!bit\b|little\b|lot\b|big fan|huge fan)[^?!]{0,60}?\b(?:{ROLE})s?(?:\b(?!['-])|$)", ""),
    ("identity", "fact", "user", r"(?:as|being)\s+(?:an?|the)\s+(?!result|reminder|rule|test|start|first step|matter|consequence|side note|note|bonus|follow-up|starting point|team|group|whole|kid|child|backup|fallback|example|thank you|gift|habit)[^?!]{0,50}?\b(?:{ROLE})\b", ""),
    ("identity", "fact", "user", r"i\s+(?:{ADVERBS})(?:work|teach|study|studied|freelance|volunteer|intern|lecture|major|majored|minored|specialise|specialize|practise|practice|serve|served|trained)\s+(?:as|at|for|in|with|on|part-time|full-time|remotely|from home|nights|night shifts|shifts|freelance|the|\w+\s+(?:at|in|to))\b(?!\s+(?:it|this|that|now|progress)\b)", ""),
    ("identity", "fact", "user", r"i\s+(?:{ADVERBS})(?:run|own|manage|lead|founded|co-founded|started|head|chair|coach|direct|operate)\s+(?:a|an|my own|our|the|two|three)\s+[^?!]{0,40}?\b(?:company|business|shop|store|studio|team|bakery|restaurant|caf[eé]|farm|agency|startup|start-up|practice|clinic|school|gym|blog|podcast|channel|bookshop|salon|bar|hotel|hostel|department|charity|club|lab|firm|franchise|brewery|nursery|garage|choir|band)\b", ""),
    ("identity", "fact", "user", r"(?:{IM})(?:studying|majoring|training|working|employed|enrolled|reading (?:law|history|physics|medicine)|doing (?:a|my) (?:phd|master's|masters|degree|internship|apprenticeship)|in (?:my )?(?:\w+ year|grade \d+|year \d+|high school|college|med school|law school|grad school)|on (?:maternity|paternity|parental|sick) leave)\b(?!\s+(?:on|through|it|hard|this|that|fine|late|now)\b)", ""),
    ("work", "fact", "user", r"i(?:'ve|\s+have)?\s+(?:{ADVERBS})(?:joined|left|quit|changed jobs|got (?:a job|promoted|laid off|hired|the job|a new job|a promotion)|started (?:at|a new job|my own|working)|graduated|retired|transferred to|was (?:promoted|born|raised|hired|laid off|diagnosed)|grew up|went to (?:school|university|college|uni)|earned|dropped out)\b(?!\s+(?:it|that|the call|the meeting|the channel)\b)", ""),
    ("home", "fact", "user", r"(?:i|we|i've|we've)(?:\s+have)?\s+(?:{ADVERBS})(?:live|lived|moved|moving|reside|relocated|settled|rent|stay|bought|own|come from|came from|been living|share)\s+(?:here\s+)?(?:in|at|to|near|on|from|with|between|outside|alone|a (?:house|flat|apartment|condo|car|boat|farm|cottage|bike|motorbike|van)|an (?:apartment|electric car|old house|allotment))\b(?!\s+(?:it|this|that|the (?:next|point|question|topic|moment|issue|problem|following|middle))\b)", ""),
    ("home", "fact", "user", r"(?:i'm|i am|we're|we are)\s+(?:{ADVERBS})(?:from|based|living|moving to|relocating to|located|staying in|settled in|renting|native to|at home in)\b(?!\s+(?:it|this|that|the (?:same|other)|there|here|scratch|on\b)\b)", ""),
    ("person", "fact", "user", r"(?:{IM})(?:almost |nearly |about |about to turn |turning )?(?:\d{1,2}(?=$|[\s,]+(?:years?|yrs?|and|now|with|this|next)\b)(?!\s*(?:%|minutes|min|hours|km|percent))|in my (?:early |mid |late |mid-|late-|early-)?(?:teens|twenties|thirties|forties|fifties|sixties|seventies|\d0s)|married|single|divorced|widowed|engaged|pregnant|expecting|retired|unemployed|left-handed|right-handed|ambidextrous|colou?r[- ]?blind|dyslexic|deaf|blind|short-sighted|near-?sighted|bilingual|gay|lesbian|bisexual|trans|non-?binary|autistic|jewish|muslim|catholic|christian|hindu|buddhist|an? (?:\w+ )?citizen|(?:british|american|irish|french|german|italian|spanish|canadian|australian|indian|chinese|japanese|korean|dutch|swedish|polish|brazilian|mexican|scottish|welsh|nigerian|kenyan|turkish|greek|portuguese|danish|norwegian|finnish|russian|ukrainian|egyptian|pakistani|vietnamese|thai|filipino|indonesian|argentinian|colombian|swiss|austrian|belgian)(?=$|\s+(?:and|but|by|with)\b))", ""),
    ("person", "fact", "user", r"(?:i|we)(?:'ve|\s+have|\s+got|'ve got)\s+(?:{ADVERBS})(?:got\s+)?(?:a|an|{NUM}|twin|no|another|twins)\s+(?:[\w-]+\s+){0,4}?(?:kids?|children|sons?|daughters?|dogs?|cats?|brothers?|sisters?|siblings|twins?|bab(?:y|ies)|toddlers?|puppy|kittens?|rabbits?|parrots?|hamsters?|horses?|chickens|grandchildren|grandkids|allotment|garden|beagle|labrador|retriever|terrier|poodle|corgi|spaniel|collie|dachshund|tortoise|goldfish|pets?|nephews?|nieces?|electric car|motorbike|greenhouse|gas stove|induction hob|sailboat)\b", ""),
    ("attribute", "fact", "user", r"(?:my|our)\s+(?:new |current |home |work |personal |office |business |mobile |main |primary |old |postal |email |shipping |delivery |wedding |gross |monthly |weekly |annual |team |emergency |late |native |first |mother |passport |preferred )*(?:address|birthday|anniversary|email|e-mail|phone|number|extension|time ?zone|nationality|job|role|title|position|employer|company|team|school|university|college|major|degree|shoe size|size|height|weight|car|bike|laptop|computer|phone|os|camera|budget|salary|goal|dream|hometown|home town|language|tongue|locker|desk|parking spot|parking space|flat|apartment|house|contact|doctor|gp|office|plate|username|handle|account|airline|seat|star sign|zodiac sign|blood type|religion|background|landlord|tech stack|stack|setup|website|blog|company name|surname|workplace|locker number|room|room number|meeting id|postcode|zip code|area code|door code|wifi name|editor|employee number|badge|membership)(?:\s+(?:number|no\.?|name|size|code|id|is called))?(?:\s+(?:for|in|at|with|on)\s+[^?!]{1,30}?)?(?:\s+(?:is|are|was changed to|has changed to|changed|changed to|moved to|will be|remains|ends in|starts with)|'s|:)\s+(?!not\b(?!.*,)|so\b|too\b|very\b|getting|broken|slow|running|freez|dead\b|being\b|what\b|there\b|great|fine\b|ready)\S", "r"),
    ("attribute", "fact", "user", r"(?:my|our)\s+(?:[\w-]+\s+){0,2}(?:address|email|e-mail|phone|number|name|job|schedule|bank|employer|surname)\s+(?:has\s+|was\s+)?changed\b", "r"),
    ("attribute", "fact", "user", r"i\s+(?:{ADVERBS})(?:drive|own|use|wear|commute by|cycle to|subscribe to|weigh|take (?:the|my) (?:bus|train|metro|tram|subway)|need glasses|wear (?:size|glasses|contacts))\s+(?:a|an|my|size|glasses|contact|about|\d|(?-i:[A-Z]))\S*(?!\s+(?:code|function|command|snippet|approach|method|loop|query|regex))", "s"),
)  # fmt: skip


def _rules() -> tuple[Rule, ...]:
    return tuple(
        Rule(
            name,
            compiled(pattern, _NAMES),
            kind,
            scope,
            INFERRED if "s" in flags else STATED,
            rest="r" in flags,
            topic="t" in flags,
            wish="w" in flags,
        )
        for name, kind, scope, pattern, flags in _TABLE
    )


def _c(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


@cache
def english() -> Language:
    """Return the English rules, compiled at the first use."""
    return Language(
        code="en",
        rules=_rules(),
        lead=_c(
            r"(?:(?:hi|hello|hey|hiya|good (?:morning|afternoon|evening)|morning|also|by the way|btw|well|so|and|but|oh|ah|yes|yeah|no|nope|ok|okay|actually|anyway|plus|because|since|as(?= (?:i|my|we)\b)|"
            r"though|although|while|just so you know|just to let you know|to be honest|honestly|frankly|fyi|for your information|you see|look|listen|one more thing|one thing|another thing|small correction|quick correction|"
            r"correction|sorry|i misspoke|i was wrong(?: earlier)?|i made a mistake|update|quick update|small update|ps|p\.s\.|first|firstly|second|secondly|finally|lastly|as you know|as i said|like i said|as i mentioned|"
            r"i should (?:mention|add|say)(?: that)?|i (?:also )?(?:wanted|want|need|have) to (?:mention|tell you|let you know|add|say)(?: that)?|let me (?:introduce myself|tell you|mention|add|correct that)|"
            r"(?:the )?truth is(?: that)?|the thing is(?: that)?|it turns out(?: that)?|thanks|thank you|great|nice to meet you|please update my (?:address )?details|for context|some context|background|a bit of background|context|"
            r"about me|just|then|for the record|in case you need it|in general|generally|personally|you know|i mean|right|alright|now|heads up|good news|bad news|guess what|instead|besides|moreover|however|still|today|"
            r"don't worry|of course|sure|obviously|clearly|basically|speaking of which|as it happens|given that|considering|seeing as|i confirm(?: that)?|i think you should know(?: that)?|given)\b[\s,:;.!—-]+){1,4}"
        ),
        remember_head=_c(
            r"(?:(?:please|can you|could you|would you|will you|i want you to|i need you to|i'd like you to|i would like you to|you should|you must|do|ok|okay|just|kindly|also|so|and|hey)[,\s]+){0,4}"
            r"(?:(?:remember|note|memori[sz]e|save|store|record|jot down|write down|keep in mind|bear in mind|make a (?:mental )?note|take note|don't forget|do not forget|never forget|put on record|add to (?:your )?memory)"
            r"(?:\s+(?:this|the fact|down|for (?:me|later|next time|the future)|in (?:your )?memory))*(?:\s+that\b|\s*:|,(?=\s*(?:i|my|we|our)\b)|(?=\s+(?:i|i'm|i've|my|we|we're|our|the|always|never)\b(?!\s+(?:time|times|day|days|movie|film|song|one|when)\b)))|"
            r"for (?:future|your) reference\b|for next time\b|fyi\b|for the record\b|just so you (?:know|remember)\b|remember to (?=always|never|only))[\s,:—-]*"
        ),
        remember_tail=_c(
            r"(?:so\s+|and\s+|but\s+)?(?:(?:please|can you|could you|would you|you should|do|just|kindly)\s+)*(?:remember|note|memori[sz]e|save|keep|bear|store|don't forget|do not forget|make a note of|take note of|write down|jot down)"
            r"(?:\s+(?:that|this|it|those|these|all (?:of )?that|in mind|for (?:me|later|next time|the future|future reference)|down|in your memory|please))+[\s.!]*$"
        ),
        request_head=_c(
            r"(?:please|can you|could you|would you|will you|help|suggest|recommend|give|show|tell|find|get|book|order|write|make|list|explain|let me|let's|any\b|wish me|thanks|thank|i need (?:a|some|help|your)|i want (?:a|some|help|you)|"
            r"i'm looking for|i am looking for|looking for|i'm (?:wondering|curious|thinking|trying|hoping)|i am (?:wondering|curious|trying|hoping)|i wonder|hoping|so (?:what|how|which|can|could|please|any)|leave|plan|check|advise|advice|"
            r"i'd (?:like(?! to be called)|love|appreciate)|i would (?:like|love|appreciate)|what|how|which|talk to you|see you|for (?:this|the next) (?:answer|one)|in this answer|i (?:can't|cannot) (?:figure|find|get|understand|make)|answer|keep|use|add|do\b|skip|try|say|summari[sz]e|go ahead|continue|remind)\b"
        ),
        question_head=_c(
            r"(?:(?:and|but|so|or|also|hey|hi|hello|well|ok|okay|then)[,\s]+)*(?:(?:what|how|why|when|where|who|whom|whose|which)\b(?!ever)|(?:is|are|am|was|were|do|does|did|can|could|would|will|should|shall|may|has|have|had|isn't|aren't|don't|doesn't|didn't|won't|wouldn't|couldn't)\s+(?:i|you|we|they|he|she|it|this|that|there|the|my|your|our|anyone|someone|people)\b"
            r"(?!\s+(?:please\s+)?(?:remember|always|never|note|call me|keep in mind|stop))|any (?:tips|ideas|advice|suggestions|recommendations|thoughts|chance|party)|got any|know any|ever\b)"
        ),
        question_tag=_c(
            r"(?:right|correct|yes|no|ok|okay|huh|eh|isn't it|aren't i|don't i|am i|do i|didn't i|haven't i|don't you think|is that (?:right|so|ok|normal)|or not|is it|isn't that so|no\?|really|remember|you know|got it|odd|wouldn't you|what do you think)"
        ),
        polite=_c(r"(?:can|could|would|will) (?:you|we)\b|please\b"),
        inner_fact=_c(
            r"\b(?:as|for|being) an?\s+(?:[\w-]+\s+){0,4}?" + w.ROLE + r"\b(?!['-])|" + w.RELATION + r",?\s+who\s+(?:really\s+|absolutely\s+)?(?:loves?|hates?|likes?|is|lives|works|plays|has|can't|doesn't|collects|studies|enjoys?|just turned|turns)\b[^,.?!]{2,60}"
        ),
        hypothetical=_c(
            r"(?:(?:and|but|so|then|well|now|ok|okay|oh)[,\s]+)*(?:if\b|what if|say (?:i|we)\b|assuming|unless|in case|were (?:i|we)\b|had (?:i|we)\b|i wish|if only|let's say|let us say|in theory|in another life|in a dream|i dreamt|i dreamed|when i'm (?:rich|old|retired|famous|grown|a)|when i (?:retire|grow|win|get rich)|one day i|someday i|as if|as though|theoretically|what would)"
            r"|[^?!]{0,80}?\b(?:if i (?:were|was|had|ever|could|lived|moved|became|won)|i wish|as if i|would've|would have|could have|might have|should have)\b"
        ),
        standing=_c(
            r"(?:(?:please|so|and|ok|okay|yes|yeah|then|can you|could you)[,\s]+)*(?:from (?:now|today|here|this point) on|always\b|never\b|whenever\b|every time|each time|going forward|moving forward|in (?:the )?future\b|by default|(?:if|when) i (?:ask|say|send|paste|mention|request)\b[^?!]{0,80}(?:\balways\b|\bnever\b))"
        ),
        style=_c(rf"\b{w.STYLE}\b"),
        unsure=_c(r"[^?!]{0,24}?\b(?:maybe|perhaps|might|probably|possibly|not sure|unsure|i guess|i suppose|i wonder|i'm wondering|could be|thinking (?:of|about)|i doubt|supposedly|allegedly|apparently|i may\b|we may\b|considering whether|on the fence)\b"),
        laughter=_c(r"\b(?:lol|lmao|rofl|(?:ha){2,}h?|(?:he){2,}|jk|kidding)\b|😂|🤣|😜|😝"),
        sarcasm=_c(
            r"🙄|^(?:oh|ah|well|wow)?[,\s]*(?:(?:oh|ah|wow|well),?\s+(?:sure|great|yeah|yes|wonderful|joy|fantastic|perfect|brilliant|good|lovely|super|absolutely|totally|how (?:nice|lovely|wonderful)|i just (?:love|adore))|yeah,? (?:right|sure|because)|sure,? (?:because|i (?:just )?(?:love|adore|enjoy))|right,? because|because (?:who|obviously|clearly)|great,? (?:another|just what)|just what i (?:needed|wanted)|as if|lucky me|how (?:wonderful|delightful)|thrilled)\b"
            r"|\bjust (?:love|adore|live for|can't get enough of|enjoy) (?:it when|how|when|being|having|getting|spending|sitting|waiting|working|that|another|these|those)|\b(?:love|adore|enjoy|like|live for) (?:it when|when|how|nothing more than|being|getting) ?(?:\w+ ){0,4}?(?:paged|woken|yelled|shouted|ignored|stuck|interrupted|put on hold|on hold|ghosted|blamed|crash\w*|break\w*|fail\w*|broken|cancell?ed|overcharged|late|lost|hacked|spammed|dumped|rained on)"
            r"|\b(?:love|adore|enjoy|live for) (?:\w+ )?(?:merge conflicts|traffic(?: jams)?|root canals?|paperwork|tax(?:es| returns?)|filling in forms|filling out forms|waiting in line|queues|queueing|monday mornings?|unpaid overtime|overtime|bugs|outages|spam|delays|dentist visits|meetings that|all-nighters|3 ?am|jet ?lag|hold music|bureaucracy)\b|\bsaid no one ever|\bnot!$|note the sarcasm|what a (?:joy|treat|delight)\b.*(?:again|another)"
        ),
        once=_c(
            r"\b(?:for|in|on|with) (?:this|the next|your next|that|the current|my next) (?:answer|reply|response|message|question|one|e-?mail|time|draft|version|task|request|prompt|paragraph|post|file|function|example|section|exercise)\b|\bjust (?:this )?once\b|\b(?:only )?this (?:once|time|answer|reply|one time)\b|\bone[- ]off\b|\bjust for (?:now|today|this)\b|\bfor (?:now|the moment|today|tonight)\b|\btoday only\b|\bnext (?:reply|answer|response|message)\b|\bin (?:this|that) case\b"
        ),
        session=_c(
            r"\b(?:until|till) (?:this|the|our) (?:chat|session|conversation|thread|window) (?:ends|is over|closes|finishes|is closed)|\b(?:for|during|throughout|in|within) (?:the (?:rest|remainder|duration) of )?(?:this|our|the current|today's) (?:chat|session|conversation|thread|discussion)\b|\b(?:this|current) (?:chat|session|conversation) only\b|\bas long as (?:this|we're|we are) (?:chat|session|conversation|talking|chatting)|\buntil (?:i|we) (?:close|end|finish|leave|log off) (?:this|the) (?:chat|session|conversation|window)|\bwhile we(?:'re| are) (?:chatting|talking|in this)\b"
        ),
        project=_c(
            r"\b(?:this|our|the|my team's|my company's) (?:[\w-]+ ){0,2}?(?:project|repo|repository|codebase|code base|team|client|company|monorepo|module|service|app|api|product|squad|department|workspace|sprint|customer|package|branch)\b|\bcompany policy\b|\bproject \w+\b"
        ),
        subject=_c(rf"(?:{w.RELATION}|(?:i|we)(?=['\s])|my\s+\w+|our\s+\w+|the\s+\w+)"),
        person=_c(w.RELATION),
        pronoun=_c(r"(?:he|she)(?=(?:'s)?\s|'s)"),
        attaches=_c(
            r"(?!(?:he|she|they|you|please|what|how|can|could|would|any|so (?:what|how|can|could|please|i|we)|thanks|let|help|is|are|do|does|it's|it is|that's|i think|i want|i need|i'm (?:looking|trying|wondering|thinking)|and i (?:want|need|think|was)|but i (?:want|need|think|am)|i was|i wonder|i just|wish)\b)\S[^?!]{1,160}$"
        ),
        joiner=" ",
    )

"""Which English turns become which memories?"""

from __future__ import annotations

import pytest

from mnemic.longterm.extract import extract_rules
from mnemic.model import Turn

# One user turn, or several turns told apart by their first letters: "u " for user, "a " for assistant.
KEPT = [
    ("Hi, my name is Tomas Varga and I go by Tom.", "fact Tomas_Varga user; preference Tom user"),
    ("I'm Priya.", "fact Priya user"),
    ("I'm a paediatric nurse in Leeds.", "fact nurse user"),
    ("I work as a plumber, mostly on old houses.", "fact plumber user"),
    ("I work for a small bakery in Porto.", "fact bakery user"),
    ("I've just moved to Lisbon.", "fact Lisbon user"),
    ("I live in Oslo with my two cats.", "fact Oslo user"),
    ("I'm originally from Ghana.", "fact Ghana user"),
    ("I'm 42 and I have three kids.", "fact three_kids user"),
    ("My birthday is 9 October.", "fact 9_October user"),
    ("I'm allergic to penicillin.", "fact penicillin user"),
    ("I'm left-handed, so please keep that in mind.", "fact left-handed user"),
    ("My work email changed: it's the one ending in example.org.", "fact example.org user"),
    ("We have a beagle called Biscuit.", "fact Biscuit user"),
    ("My wife works at a bank and loves durian.", "fact wife&bank user"),
    ("My little brother is sitting his finals next spring.", "fact brother&finals user"),
    ("My mum doesn't eat spicy food.", "fact mum&spicy user"),
    ("My friend Ola hates hiking.", "fact Ola&hiking user"),
    (
        "My daughter Ines is five. She loves dinosaurs.",
        "fact Ines&five user; fact Ines&dinosaurs user",
    ),
    ("My flatmate is allergic to cat hair.", "fact flatmate&cat user"),
    ("I really enjoy minimalist interfaces.", "preference minimalist user"),
    ("I like tea more than coffee.", "preference tea user"),
    ("I can't stand pop-up ads.", "preference pop-up user"),
    ("I never drink alcohol.", "preference alcohol user"),
    ("I'm not a fan of very sweet desserts.", "preference sweet user"),
    ("My favourite editor is Helix.", "preference Helix user"),
    ("I'd rather take morning flights.", "preference morning user"),
    ("I'm vegan, by the way.", "preference|fact vegan user"),
    ("I avoid gluten.", "preference gluten user"),
    ("For web work Svelte is my go-to framework.", "preference Svelte user"),
    ("Always answer me in British English.", "preference British user"),
    ("Please never use emojis when you write to me.", "preference emojis user"),
    ("Going forward, put the conclusion first.", "preference conclusion user"),
    ("Whenever I ask for a recipe, give metric units.", "preference metric user"),
    ("In future, no bullet points please.", "preference bullet user"),
    ("Stop calling me buddy.", "preference buddy user"),
    ("Please call me Max.", "preference Max user"),
    ("By default show temperatures in Celsius.", "preference Celsius user"),
    ("Could you remember that my parking spot is B117?", "fact B117 user"),
    ("Note that deliveries go to the back door.", "fact back_door user"),
    ("Keep in mind that I only have a gas stove.", "fact gas_stove user"),
    ("The spare key is with Mrs. Doyle, please remember that.", "fact Doyle user"),
    ("For future reference: the bins go out on Monday nights.", "fact bins user"),
    ("Don't forget I'm colour-blind.", "fact colour-blind user"),
    ("I speak Cantonese.", "skill Cantonese user"),
    ("I'm proficient in SQL and know a bit of Spark.", "skill SQL user"),
    ("I've been playing the guitar for ten years.", "skill guitar user"),
    ("I can't drive, so I take the metro.", "skill drive user"),
    ("I hold a private pilot licence.", "skill pilot user"),
    ("I have 8 years of experience with embedded C.", "skill embedded user"),
    ("I play badminton on Wednesday nights.", "habit badminton user"),
    ("I usually listen to a podcast before bed.", "habit podcast user"),
    ("Every morning I walk the dog for forty minutes.", "habit dog user"),
    ("I get up at 5:30 and read for an hour.", "habit 5:30 user"),
    ("Our team's rule is no releases on Fridays.", "constraint Fridays project"),
    ("Nobody may push straight to main in this repository.", "constraint push project"),
    ("The client insists that every report can be exported.", "constraint exported project"),
    ("All endpoints in this project must carry a version.", "constraint version project"),
    ("The budget can't go above 20k for this client.", "constraint 20k project"),
    ("Company policy: code needs two reviewers.", "constraint reviewers project"),
    ("We don't use semicolons in this codebase.", "constraint semicolons project"),
    ("We've agreed to replace MongoDB with PostgreSQL.", "decision PostgreSQL project"),
    ("The team has settled on a single-column layout.", "decision single-column project"),
    ("After a long debate we chose Valkey over Redis.", "decision Valkey project"),
    ("It's decided: we're going back to a monolith.", "decision monolith project"),
    ("Project Swift is in the alpha phase.", "context alpha project"),
    ("We plan to launch in September.", "context September project"),
    ("I'm building a budgeting app with Flask.", "context budgeting project"),
    ("The deadline for the migration is 15 August.", "context 15_August project"),
    ("I have a dentist appointment on Thursday at 3 pm.", "event dentist user"),
    ("I'm flying to Osaka on 6 May.", "event Osaka user"),
    ("My sister is getting married on 12 July.", "event|fact sister&12_July user"),
    ("Our job interview with Acme is next Tuesday.", "event interview user"),
    ("Until this chat ends, answer me in German.", "preference German session"),
    (
        "During this conversation don't touch the production database.",
        "constraint production session",
    ),
    ("As a vegetarian, what can I eat in Lyon?", "preference|fact vegetarian user"),
    ("What laptop would you pick for me as a film student?", "fact film_student user"),
    ("I'm based in Turin, any weekend tips?", "fact Turin user"),
    ("Since I'm lactose intolerant, which desserts are safe?", "fact|preference lactose user"),
    ("Correction: my extension is 8021, not 8012.", "fact 8021 user"),
    ("I changed jobs, I now work at a chip company.", "fact chip user"),
    ("u Find a gym|a You live in Camden, don't you?|u No, Hackney.", "fact Hackney user"),
    ("u Find a coach|a You play tennis, right?|u Not tennis, squash.", "fact squash user"),
    (
        "u Flights?|a Shall I put direct flights first from now on?|u Yes, do that",
        "preference direct user",
    ),
    (
        "u List them|a Do you want me to sort by priority every time?|u yep",
        "preference priority user",
    ),
    ("u Any gigs?|a Just to check, do you live in Cardiff?|u Yes, I do.", "fact Cardiff user"),
    (
        "u Book it|a Your booking is confirmed: Hotel Aurora, 1 July, confirmation number HT-88213.",
        "event HT-88213 user",
    ),
    (
        "u Return it|a I've submitted the refund. Reference RF20391, expect it in three days.",
        "event RF20391 user",
    ),
    ("u Fix AC|a The repair is scheduled for Wednesday; ticket #GD-5512.", "event GD-5512 user"),
    (
        "I can drive a forklift, and I know a bit of welding.",
        "skill forklift user; skill welding user",
    ),
    ("I'm pretty good at Excel and I can write basic VBA.", "skill Excel user; skill VBA user"),
    ("I play the saxophone and I read music.", "skill|habit|fact saxophone user"),
    ("I speak fluent Italian and some Croatian.", "skill Italian&Croatian user"),
    ("Sorry, I got that wrong: my sister's name is Maren, not Karen.", "fact Maren user"),
    ("Actually, correction, our kids are seven and nine, not six and nine.", "fact seven user"),
    ("We've moved: we're in Bergen now, not Stavanger.", "fact Bergen user"),
    ("Change of address: I now live in Tartu.", "fact Tartu user"),
    ("My new phone number ends in 3307.", "fact 3307 user"),
    (
        "Hey there, I'm Leopold Finch but everyone calls me Leo.",
        "fact Leopold_Finch user; preference|fact Leo user",
    ),
    ("The name's Sanjay, nice to meet you.", "fact Sanjay user"),
    ("You can call me Bea.", "preference Bea user"),
    ("I much prefer paper books over e-readers.", "preference paper user"),
    ("Firefox is the only browser I use.", "preference Firefox user"),
    ("I'm more of a tea person.", "preference tea user"),
    ("In future please keep answers under five sentences.", "preference five user"),
    ("From here on, use metric units.", "preference metric user"),
    ("Always include the source at the end of an answer.", "preference source user"),
    ("No more horror film recommendations from now on, please.", "preference horror user"),
    ("Never suggest recipes with pork.", "preference pork user"),
    ("I don't drink coffee, so skip the espresso places.", "preference coffee user"),
    ("I don't eat beef or lamb.", "preference beef user"),
    ("I'm allergic to mangoes, keep that in mind for desserts.", "fact|preference mango user"),
    (
        "My son Arlo just started middle school. He is crazy about robots, what should I get him?",
        "fact Arlo&middle user; fact Arlo&robots user",
    ),
    ("My dad loves chess and has a bad knee, so I want to buy him a chair.", "fact dad&chess user"),
    (
        "My best friend Nadia is getting married next month. She adores hydrangeas.",
        "fact|event Nadia&married user; fact Nadia&hydrangeas user",
    ),
    ("Our cat is called Mochi, she's three.", "fact Mochi user"),
    ("Please remember that the spare medicine is in the hall cupboard.", "fact medicine user"),
    ("Remember: the router is behind the bookshelf.", "fact router user"),
    ("Make a note that the broadband contract runs out in November.", "fact broadband user"),
    (
        "Osprey just entered public beta, and the full release is set for early October.",
        "context beta project; context October project",
    ),
    (
        "Right now Marlin is in the requirements phase. Development is due to start next quarter.",
        "context requirements project; context Development&quarter project",
    ),
    ("We settled on Vue for the frontend, no more React.", "decision Vue project"),
    (
        "We talked it over and we're postponing the database migration until after Easter.",
        "decision postpon project",
    ),
    ("The board approved the move to Loki for logging.", "decision Loki project"),
    ("In yesterday's meeting we agreed that login will be by QR code only.", "decision QR project"),
    (
        "The client has one hard requirement: every page must load within three seconds.",
        "constraint three project",
    ),
    ("User photos must never leave the EU in this project.", "constraint photos project"),
    ("Each pull request needs two approvals in our repo.", "constraint approvals project"),
    ("Our team convention is snake_case for variables.", "constraint snake project"),
    ("In this codebase we never use global state.", "constraint global project"),
    ("For the rest of this chat, reply in Japanese.", "preference Japanese session"),
    ("Until this session ends, assume the Tokyo time zone.", "constraint|preference Tokyo session"),
    (
        "While we're in this conversation, treat me as a beginner.",
        "preference|constraint beginner session",
    ),
    ("On 22 April I'm travelling to Geneva for a conference.", "event Geneva user"),
    ("My driving test is on June 7th, fingers crossed.", "event driving user"),
    ("I have an interview next Wednesday afternoon at the tech park.", "event interview user"),
    ("We're getting married on May 20.", "event married user"),
    ("I go to bed at eleven and write in my diary first.", "habit diary user"),
    ("On the last Saturday of every month I volunteer at a shelter.", "habit volunteer user"),
    ("I run five kilometres before work most days.", "habit five user"),
    ("As a primary school teacher, how can I use AI to plan lessons?", "fact school_teacher user"),
    ("I'm a law student writing my thesis, how do I format references?", "fact law_student user"),
    ("I run a guest house in Bath; how could I raise occupancy?", "fact guest_house user"),
    (
        "Being a night-shift nurse I sleep in the daytime, which curtains would you buy?",
        "fact nurse user",
    ),
    (
        "u Distance?|a Should I use kilometres from now on?|u Yes please.",
        "preference kilometres user",
    ),
    (
        "u Weekly report|a Shall I always use this template for your weekly reports?|u Sure",
        "preference template user",
    ),
    ("u Yoga|a You live in Queens, right?|u No, I live in Brooklyn.", "fact Brooklyn user"),
    ("u Courses|a You're a junior, correct?|u No, a senior.", "fact senior user"),
    (
        "u Doctor|a Your appointment has been booked: eye clinic, 9 March, booking number Y20931.",
        "event Y20931 user",
    ),
    (
        "u Tickets|a All done! Two tickets for Hamlet on 12 April, order #8812-3390.",
        "event 8812-3390 user",
    ),
    (
        "u Parcel|a Your parcel has been sent. Tracking number: SF1029384756.",
        "event SF1029384756 user",
    ),
    ("u Refund|a I cancelled the subscription (confirmation code QX77-21).", "event QX77-21 user"),
    ("My German is decent and I can get by in Dutch.", "skill German user"),
    ("I've used Photoshop for about a decade.", "skill Photoshop user"),
    ("I got my scuba certification last year and I can sail a dinghy.", "skill scuba user"),
    ("I need to correct myself: my girlfriend is Finnish, not Swedish.", "fact Finnish user"),
    ("Our office moved to Canary Wharf, we're no longer in Soho.", "fact Canary_Wharf user"),
    ("Hi all, Dmitri Volkov here, call me Dima.", "preference Dima user"),
    (
        "I've always used Alacritty as my terminal, I can't get used to anything else.",
        "preference Alacritty user",
    ),
    ("When it comes to headphones I favour wired ones.", "preference wired user"),
    ("Whenever you recommend a book, mention the publisher too.", "preference publisher user"),
    ("Please use the 24-hour clock for all my reminders from now on.", "preference 24-hour user"),
    ("Don't ever mix Spanish words into your replies.", "preference Spanish user"),
    ("I can't bear people chewing loudly.", "preference chewing user"),
    ("I don't drink milk, so leave it out of breakfast plans.", "preference milk user"),
    ("I get carsick, so avoid winding roads when you plan routes.", "fact|preference carsick user"),
    (
        "My cousin Freya is studying nursing and she loves journaling, what could I give her?",
        "fact Freya&nursing user; fact Freya&journaling user",
    ),
    ("My father-in-law just retired and has taken up fishing.", "fact father-in-law&retired user"),
    ("Please note: the bin lorry comes on Tuesdays and Fridays at seven.", "fact bin_lorry user"),
    ("Grandpa's pills have to be taken after meals, remember that.", "fact pills user"),
    (
        "Stardust is still at the prototype stage; the beta is planned for next March.",
        "context prototype project; context beta&March project",
    ),
    (
        "Our app has moved into staged rollout, with full launch due at the end of the month.",
        "context rollout project",
    ),
    (
        "Yesterday the review board decided to abandon our own data centre and move to the cloud.",
        "decision cloud project",
    ),
    ("The team voted for Kotlin on the client side.", "decision Kotlin project"),
    ("We're going with weekly releases instead of monthly ones.", "decision weekly project"),
    (
        "The customer requires that the interface supports screen readers.",
        "constraint screen_readers project",
    ),
    ("Every function in this repo must have a unit test.", "constraint unit_test project"),
    (
        "House rule on our team: nothing goes live before a day on staging.",
        "constraint staging project",
    ),
    (
        "Company policy says client files can't be kept on personal laptops.",
        "constraint client_files project",
    ),
    (
        "For this conversation, write all temperatures in Fahrenheit.",
        "preference|constraint Fahrenheit session",
    ),
    ("Until I close this window, don't run any delete commands.", "constraint delete session"),
    ("I'm running the half marathon on October 12.", "event half_marathon user"),
    ("I've booked flights to Crete for 8 July.", "event Crete user"),
    ("I'm having knee surgery on the 3rd of next month.", "event knee user"),
    ("I meal-prep every Sunday evening.", "habit meal-prep user"),
    ("I always drink a glass of warm water before bed.", "habit warm_water user"),
    ("As a mother of two, how do I find time for the gym?", "fact mother user"),
    (
        "I'm a paralegal at a small firm, how do people manage contract templates?",
        "fact paralegal user",
    ),
    (
        "u Convert|a Should weights always be shown in kilograms?|u Yes, always.",
        "preference kilograms user",
    ),
    (
        "u Mail|a Would you like me to sign your mails with your English name in future?|u Yes, please do.",
        "preference English_name user",
    ),
    ("u Near me|a You're in Leipzig at the moment, right?|u No, in Dresden.", "fact Dresden user"),
    (
        "u Pay the bill|a Payment complete: 126 euros, transaction ID E20260318-77.",
        "event E20260318-77 user",
    ),
    (
        "u Rebook|a You're all set, I moved you to train D2288 on 5 April, new booking code K93M2.",
        "event K93M2 user",
    ),
    (
        "u Sign me up|a Registration submitted, your registration number is BM-40217.",
        "event BM-40217 user",
    ),
    ("I can bake sourdough and I'm okay at cake decorating.", "skill sourdough user"),
    ("I've been writing Go for three years.", "skill Go user"),
    ("Scratch that, my mother-in-law is from Cork, not Kerry.", "fact Cork user"),
    ("New delivery address: I live in Ghent now rather than Bruges.", "fact Ghent user"),
    ("Good evening, my name is Clara Song, Clara is fine.", "fact Clara_Song user"),
    ("After trying lots of note apps I still prefer Notion.", "preference Notion user"),
    ("Whenever you make me a plan, include time estimates.", "preference time_estimates user"),
    ("From now on explain maths problems step by step.", "preference step user"),
    ("I'm terrified of roller coasters.", "fact|preference roller_coasters user"),
    (
        "I can't eat peanuts, so please keep them out of baking recipes.",
        "preference|fact peanuts user",
    ),
    (
        "My son Leon is in first grade and he loves Lego.",
        "fact Leon&first_grade user; fact Leon&Lego user",
    ),
    (
        "My mum has taken up tap dancing, her back is bad, so I want to buy her a brace.",
        "fact mum&dancing user",
    ),
    ("Please remember: the printer paper is in the third cabinet.", "fact printer user"),
    ("Keep in mind that our spare key is under the flower pot.", "fact spare_key user"),
    (
        "Project Dawn is in discovery right now, and development should begin in June.",
        "context discovery project",
    ),
    ("We've just agreed to switch the API docs to OpenAPI.", "decision OpenAPI project"),
    ("Decision made: the launch event will be in Lyon.", "decision Lyon project"),
    ("The client stressed that the system has to work offline.", "constraint offline project"),
    ("All secrets in this project go into the vault, never into code.", "constraint vault project"),
    ("Our repo requires a ticket number in each commit.", "constraint ticket project"),
    ("During this session treat staging as read-only.", "constraint staging session"),
    ("Until our chat is over, please answer like a pirate.", "preference pirate session"),
    ("On August 2 I'm going to Vienna for a wedding.", "event Vienna user"),
    ("My girlfriend takes the bar exam on 5 November.", "event|fact girlfriend&bar_exam user"),
    ("I hit the gym after work on Tuesdays and Thursdays.", "habit gym user"),
    ("I take a twenty minute nap after lunch every day.", "habit nap user"),
    ("As a tenant, am I allowed to change the locks?", "fact tenant user"),
    ("I run an online shop for ceramics, how do tax refunds work?", "fact ceramics user"),
    (
        "u Rates|a Shall I use euros as the base by default?|u Yes, euros by default.",
        "preference euros user",
    ),
    ("u Tutor|a Your kid is in ninth grade, right?|u No, tenth.", "fact tenth user"),
    (
        "u Courts|a You play tennis, don't you?|u No, I play badminton.",
        "fact|habit|skill|preference badminton user",
    ),
    (
        "u Table|a Booked! The Heron, Friday 6 pm, party of four, booking ref SH-2207.",
        "event Heron&SH-2207 user",
    ),
    (
        "u Leave|a Your leave request has been submitted under number LV-30918 and awaits approval.",
        "event LV-30918 user",
    ),
    ("I don't enjoy paperwork.", "preference paperwork user"),
    ("My room number is 2333.", "fact 2333 user"),
    ("Always cc my manager on weekly reports.", "preference|constraint manager user"),
    ("My sister plays the harp.", "fact sister&harp user"),
]


def conversation(script: str) -> list[Turn]:
    if script[:2] not in ("u ", "a "):
        return [Turn("user", script)]
    return [Turn("user" if part[0] == "u" else "assistant", part[2:]) for part in script.split("|")]


def entries(expected: str) -> list[tuple[set[str], list[str], str]]:
    parts = [entry.split() for entry in expected.split("; ")]
    return [
        (set(kind.split("|")), words.replace("_", " ").split("&"), scope)
        for kind, words, scope in parts
    ]


@pytest.mark.parametrize(("script", "expected"), KEPT)
def test_a_durable_statement_is_kept(script: str, expected: str) -> None:
    found = extract_rules(conversation(script))
    for kinds, words, scope in entries(expected):
        holding = [c for c in found if all(word in c.content for word in words)]
        assert holding, [c.content for c in found]
        assert any(c.memory_type in kinds and c.scope == scope for c in holding), holding

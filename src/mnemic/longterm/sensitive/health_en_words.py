"""Which English words name a disease, a medicine, a test or a laboratory value?

Broad names first, so that stages, sides and degrees need no entries of their own. Everyday complaints (a
cold, a headache, stress) and allergies are left out on purpose.
"""

from __future__ import annotations

__all__ = ["BEGINNINGS", "CONDITIONS", "DRUGS", "LABS", "PIECES", "TESTS"]

CONDITIONS = (
    r"(?:(?:[a-z-]{3,16} ){0,2}(?:cancer|carcinoma|sarcoma|lymphoma|leuka?emia|melanoma|myeloma|glioma|"
    r"tumou?rs?|cirrhosis|hepatitis(?: [abc])?|diabetes|dementia|sclerosis|arthritis|dystrophy|neuropathy|"
    r"nephritis|pancreatitis|meningitis|pneumonia|fibrosis|failure of the (?:heart|kidneys?)|"
    r"(?:heart|kidney|renal|liver) (?:failure|disease)|(?:personality|bipolar|panic|eating|anxiety|"
    r"depressive|"
    r"mood|spectrum|compulsive|stress|hyperactivity|sleep|seizure|autoimmune|thyroid|bleeding) disorder)|"
    r"hiv|aids|hypertension|high blood pressure|stroke|heart attack|arrhythmia|atrial fibrillation|aneurysm|"
    r"epilepsy|parkinson'?s?|alzheimer'?s?|huntington'?s?|als|lupus|gout|crohn'?s?|ulcerative colitis|"
    r"colitis|"
    r"ibs|celiac(?: disease)?|coeliac|asthma|copd|emphysema|tuberculosis|cystic fibrosis|sickle cell|"
    r"ha?emophilia|an(?:a)?emia|syphilis|gonorrh(?:o)?ea|chlamydia|herpes|hpv|endometriosis|pcos|"
    r"polycystic ovary syndrome|infertility|(?:clinical|major|severe|postpartum|bipolar|manic)[ -]depression|"
    r"bipolar(?: ii| i| 2| 1)?|schizophrenia|schizoaffective|ptsd|post-traumatic stress|ocd|adhd|"
    r"autism|asperger'?s?|"
    r"anorexia|bulimia|tourette'?s?|down syndrome|fibromyalgia|psoriasis|eczema|vitiligo|glaucoma|cataracts?|"
    r"macular degeneration|hypothyroidism|hyperthyroidism|hashimoto'?s?|graves'? disease|kidney stones|"
    r"gallstones|appendicitis|diverticulitis|osteoporosis|scoliosis|sleep apn(?:o)?ea|narcolepsy|"
    r"chronic fatigue syndrome|lyme disease|malaria|covid(?:-19)?|dengue|sepsis|cerebral palsy|"
    r"myasthenia gravis|thalassemia|thrombosis|pulmonary embolism|miscarriage|stillbirth|preeclampsia|"
    r"pneumothorax|aphasia|paralysis|concussion|brain injury|retinopathy|cardiomyopathy|encephalopathy|"
    r"marfan|ehlers-danlos|postpartum psychosis|psychosis|addiction|alcoholism|panic attacks|"
    r"gestational diabetes|abortion|hysterectomy|vasectomy|"
    r"mastectomy|prediabetes|insulin resistance|fatty liver|heart murmur|blood clots?|"
    r"chronic (?:migraines?|pain|insomnia|headaches?|illness|depression|bronchitis)|"
    r"cluster headaches?|(?:autism|autistic) spectrum|[a-z]{4,16}itis)"
)
DRUGS = (
    r"(?:sertraline|zoloft|fluoxetine|prozac|paroxetine|paxil|citalopram|escitalopram|lexapro|venlafaxine|"
    r"effexor|duloxetine|cymbalta|mirtazapine|bupropion|wellbutrin|trazodone|buspirone|lithium|valproate|"
    r"depakote|lamotrigine|lamictal|olanzapine|quetiapine|seroquel|risperidone|aripiprazole|abilify|"
    r"clozapine|haloperidol|alprazolam|xanax|clonazepam|klonopin|lorazepam|ativan|diazepam|zolpidem|ambien|"
    r"methylphenidate|ritalin|concerta|adderall|vyvanse|atomoxetine|strattera|metformin|insulin|glipizide|"
    r"jardiance|farxiga|semaglutide|ozempic|wegovy|tirzepatide|mounjaro|lisinopril|losartan|valsartan|"
    r"amlodipine|metoprolol|carvedilol|warfarin|eliquis|xarelto|plavix|atorvastatin|lipitor|rosuvastatin|"
    r"simvastatin|levothyroxine|synthroid|methimazole|entecavir|tenofovir|truvada|biktarvy|descovy|prep|"
    r"tamoxifen|letrozole|anastrozole|herceptin|keytruda|methotrexate|hydroxychloroquine|humira|"
    r"adalimumab|enbrel|remicade|prednisone|allopurinol|levetiracetam|keppra|carbamazepine|topiramate|"
    r"donepezil|memantine|levodopa|suboxone|methadone|naltrexone|spironolactone|clomid|letrozole|"
    r"antidepressants|antipsychotics|antiretrovirals?|beta blockers?|blood thinners?|mood stabili[sz]ers?|"
    r"chemo(?:therapy)?|dialysis)"
)
TESTS = (
    r"(?:hiv|hepatitis [abc]|syphilis|chlamydia|gonorrhea|herpes|covid(?:-19)?|tuberculosis|tb|biopsy|"
    r"antibod(?:y|ies)|h\. ?pylori|pregnancy test|mammogram|pap smear|std|sti|brca[12]?|genetic test|"
    r"drug test|amnio(?:centesis)?|colonoscopy|mri|ct scan|pet scan|ultrasound|x-ray|ekg|ecg|echo)"
)
LABS = (
    r"(?:blood (?:pressure|sugar|glucose)|fasting glucose|cholesterol|ldl|hdl|triglycerides|creatinine|"
    r"viral load|h(?:a)?emoglobin|uric acid|ejection fraction|bone density|hba1c|a1c|psa|tsh|cd4(?: count)?|"
    r"ferritin|egfr|white (?:blood )?cell count|platelet count|platelets|phq-?9|gad-?7|amh|hcg)"
)
_BEGINNING_WORDS = """
abili abort adali adder addic alcoh allop alpra alzhe ambie amlod anaem anast anemi aneur anore antid antip
antir aphas aripi arrhy asper asthm ativa atomo atorv atria autis bikta bipol block blood brain bulim bupro
buspi cance carba carci cardi carve catar celia chemo chlam chole chron cirrh cital clini clomi clona cloza
clust coeli conce concu covid creat crohn cymba cysti demen dengu depak desco diabe dialy diaze donep dulox
dystr eczem effex ehler eject eliqu emphy enbre encep endom entec epile escit failu farxi fasti fatty ferri
fibro fluox galls gesta glauc gliom glipi gonor haemo halop hashi heart hemog hemop herce herpe humir hunti
hydro hyper hypot hyste infer insul jardi keppr keytr kidne klono lamic lamot letro leuka leuke levet levod
levot lexap lipit lisin lithi liver loraz losar lupus lymph macul major malar manic marfa maste melan meman
metfo metha methi metho methy metop mirta misca mounj myast myelo naltr narco neuro olanz osteo ozemp panic
paral parki parox paxil plate plavi pneum postp predi predn preec proza psori psych pulmo queti remic renal
retin rispe rital rosuv sarco schiz scler scoli semag sepsi seroq sertr sever sickl simva sleep spiro still
strat strok subox synth syphi tamox tenof thala throm tirze topir toure trazo trigl truva tuber tumor tumou
valpr vasec venla viral vitil vyvan warfa wegov wellb white xanax xarel zolof zolpi
"""
BEGINNINGS = frozenset(_BEGINNING_WORDS.split())
"""How a word of each condition, medicine and laboratory value begins, those that a piece tells aside."""
_PIECE_WORDS = """
hiv aids als gout ibs copd hpv pcos ptsd ocd adhd itis ldl hdl a1c psa tsh cd4 amh hcg egfr phq gad prep uric
traum densi stabil syndrom disease disorder
"""
PIECES = tuple(_PIECE_WORDS.split())
"""What the others hold: words too short to have a beginning, and endings."""

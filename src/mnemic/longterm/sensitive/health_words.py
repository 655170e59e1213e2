"""Which words name a disease, a medicine or a laboratory value?

Lexicons in Chinese and English, written for this filter: broad names first, so that stages, sides and
degrees need no entries of their own. Everyday complaints (a cold, a headache, stress) and allergies are
left out on purpose: they are no diagnosis, and allergies are worth remembering.
"""

from __future__ import annotations

__all__ = ["CONDITIONS_EN", "CONDITIONS_ZH", "DRUGS", "LAB_VALUES", "TESTS"]

CONDITIONS_ZH = (
    r"(?:[一-鿿]{0,4}(?:癌|恶性肿瘤|肉瘤|黑色素瘤|淋巴瘤|胶质瘤|骨髓瘤|母细胞瘤|白血病|(?:胃|肠|鼻窦?|"
    r"关节|支气管|胆管|膀胱|甲状腺|盆腔|附件|前列腺|中耳|角膜|骨髓|血管|静脉)炎|肝硬化|肝炎|"
    r"肾炎|胰腺炎|脑膜炎|"
    r"心肌炎|肺炎|肾衰竭|心衰|心力衰竭|心律失常|心肌梗死|房颤|动脉瘤|血栓|脑出血|蛛网膜下腔出血)|"
    r"肿瘤|乙肝|丙肝|甲肝|大三阳|小三阳|糖尿病|高血压|高血脂|高血糖|冠心病|心脏病|心梗|脑梗|脑卒中|"
    r"中风|癫痫|帕金森|"
    r"阿尔茨海默|老年痴呆|痴呆|渐冻症|多发性硬化|重症肌无力|红斑狼疮|类风湿|强直性脊柱炎|痛风|血友病|"
    r"地中海贫血|再生障碍性贫血|"
    r"艾滋病?|hiv|梅毒|淋病|尖锐湿疣|疱疹|结核|肺结核|尿毒症|肾病|肾结石|胆结石|哮喘|慢阻肺|肺气肿|"
    r"肺纤维化|尘肺|"
    r"脂肪肝|甲状腺功能[减亢][退进]|甲亢|甲减|甲状腺结节|桥本|多囊卵巢|子宫肌瘤|子宫内膜异位|卵巢囊肿|"
    r"乳腺结节|肺结节|前列腺炎|不孕症|不育症|"
    r"抑郁症?|双相|躁郁症|躁狂|焦虑症|焦虑障碍|强迫症|精神分裂|惊恐障碍|恐慌症|创伤后应激|边缘型人格|"
    r"人格障碍|厌食症|暴食症|"
    r"失眠症|自闭症|孤独症|阿斯伯格|多动症|注意缺陷|adhd|ptsd|ocd|抽动症|智力障碍|发育迟缓|唐氏|"
    r"白癜风|银屑病|牛皮癣|克罗恩|溃疡性结肠炎|胃溃疡|十二指肠溃疡|幽门螺[旋杆]菌|阑尾炎|胆囊炎|疝气|"
    r"腰椎间盘突出|颈椎病|骨质疏松|骨折|脊髓灰质炎|小儿麻痹|青光眼|白内障|黄斑变性|视网膜脱落|色盲|夜盲|"
    r"新冠|covid|流感|登革热|疟疾|狂犬病|麻风|疯牛病|睡眠呼吸暂停|梅尼埃|贫血|败血症|息肉|早孕|流产)"
)
CONDITIONS_EN = (
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
    r"myasthenia gravis|thalassemia|thrombosis|pulmonary embolism|[a-z]{4,16}itis)"
)
DRUGS = (
    r"(?:舍曲林|氟西汀|百忧解|帕罗西汀|西酞普兰|文拉法辛|度洛西汀|米氮平|安非他酮|碳酸锂|丙戊酸|"
    r"拉莫三嗪|奥氮平|喹硫平|"
    r"利培酮|阿立哌唑|氯氮平|阿普唑仑|氯硝西泮|劳拉西泮|哌甲酯|专注达|择思达|二甲双胍|胰岛素|格列|"
    r"阿卡波糖|司美格鲁肽|"
    r"缬沙坦|氨氯地平|硝苯地平|美托洛尔|华法林|阿托伐他汀|瑞舒伐他汀|氯吡格雷|左甲状腺素|优甲乐|"
    r"甲巯咪唑|恩替卡韦|"
    r"替诺福韦|奥希替尼|吉非替尼|伊马替尼|曲妥珠单抗|赫赛汀|他莫昔芬|来曲唑|甲氨蝶呤|羟氯喹|"
    r"左乙拉西坦|卡马西平|多奈哌齐|"
    r"sertraline|zoloft|fluoxetine|prozac|paroxetine|citalopram|escitalopram|lexapro|venlafaxine|duloxetine|"
    r"mirtazapine|bupropion|wellbutrin|lithium|valproate|lamotrigine|olanzapine|quetiapine|seroquel|"
    r"risperidone|"
    r"aripiprazole|abilify|clozapine|alprazolam|xanax|clonazepam|lorazepam|methylphenidate|ritalin|adderall|"
    r"vyvanse|metformin|insulin|glipizide|semaglutide|ozempic|lisinopril|losartan|amlodipine|"
    r"metoprolol|warfarin|"
    r"eliquis|atorvastatin|lipitor|rosuvastatin|levothyroxine|synthroid|entecavir|tenofovir|truvada|biktarvy|"
    r"tamoxifen|letrozole|methotrexate|hydroxychloroquine|humira|adalimumab|levetiracetam|keppra|"
    r"carbamazepine|"
    r"donepezil|antidepressants|antipsychotics|antiretrovirals?|抗抑郁药|抗精神病药|降压药|降糖药|抗病毒药)"
)
TESTS = (
    r"(?:hiv|hbsag|乙肝|丙肝|表面抗原|e抗原|梅毒|抗体|抗原|核酸|幽门螺[旋杆]菌|结核|唐筛|唐氏筛查|"
    r"无创|基因检测|brca[12]?|"
    r"活检|病理|穿刺|涂片|tct|hpv|早孕|尿检|毒检|pcr|"
    r"hepatitis [abc]|syphilis|chlamydia|gonorrhea|herpes|covid(?:-19)?|tuberculosis|tb|biopsy|"
    r"antibod(?:y|ies)|"
    r"h\. ?pylori|pregnancy test|mammogram|pap smear|std|sti)"
)
LAB_VALUES = (
    r"(?:糖化血红蛋白|空腹血糖|餐后血糖|血糖|血压|尿酸|肌酐|转氨酶|谷丙|谷草|胆固醇|甘油三酯|"
    r"低密度脂蛋白|病毒载量|cd4|"
    r"甲胎蛋白|癌胚抗原|促甲状腺激素|tsh|hba1c|a1c|psa|血红蛋白|血小板|白细胞|"
    r"blood (?:pressure|sugar|glucose)|fasting glucose|cholesterol|ldl|triglycerides|creatinine|viral load|"
    r"h(?:a)?emoglobin|uric acid|ejection fraction|bone density)"
)

"""Which words say nothing, which say little, and which characters are two spellings of one?

Written for this project from general knowledge of the two languages, not from any text collection.
Everyday words carry less weight in a query (``telling``); stop words carry none.
"""

STOP_ENGLISH = """
    a an the this that these those some any each such own same other another
    i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his
    himself she her hers herself it its itself they them their theirs themselves someone something
    am is are was were be been being do does did doing done have has had having can could will
    would shall should might must ought cant couldnt wont wouldnt shouldnt dont doesnt didnt isnt
    arent wasnt werent havent hasnt hadnt im ive id ill youre youve hes shes theyre theyve were
    weve its thats whats whos lets and or but if then else than so as of at by for with about
    against between into through during to from in out on off over under up down again further
    once also just only very too not no nor what which who whom whose when where why how there
    here all both please tell give let get got make say said go going
    """
STOP_CHARACTERS = (
    "的了着过地得之是在有和与及或而但就也都还又再很太更最把被给让向从到对于以为因所其此该这那"
    "哪谁吗呢吧啊呀哦嗯哈嘛啦么个些我你您他她它们咱要会能可请帮想说去来用上下里中不没一只几多"
)
STOP_CHINESE = """
    什么 怎么 怎样 如何 为什么 哪里 哪儿 哪个 哪些 什么样 多少 是否 我们 你们
    您们 他们 她们 它们 咱们 自己 这个 那个 这些 那些 这里 那里 这样 那样
    一个 一些 一下 可以 能够 应该 需要 没有 不是 就是 还是 或者 以及 因为
    所以 但是 如果 虽然 然后 已经 现在 时候 告诉 请问 知道 觉得 关于 有没有
    是不是 怎么样 以前 之前 之后 曾经 有关
"""
EVERYDAY_ENGLISH = """
    ability able absolutely action activity actually add address advice affect afraid after
    afternoon ago agree ahead almost alone along already alright always amazing angry answer
    anymore anyone anything anyway apart appreciate approach area around ask aspect assistant
    available avoid away awesome back bad based basic beautiful because become before began begin
    behind believe benefit best better beyond big bit book break bring brought build busy buy call
    calm came care case cause certain challenge chance change chat check child choice choose clear
    close combine come common compare complete concern confirm consider contain continue
    conversation cool correct couple course create critical crucial curious current cut daily date
    day deal dear decide deep definitely depend describe despite detail different difficult direct
    discover discuss due early easy effective effort encourage end enjoy enough ensure entire
    especially essential even evening event ever every everyone everything exactly example
    excellent excited expect experience expert explain explore extra face fact fall far fast favor
    favorite favourite feature feel felt few field final find fine finish first fit fix focus
    follow forget form former forward found free friend fun future gain gave general glad global
    goal good great group grow guess guide habit half hand handle happen happy hard head hear
    heard hello help hey hi high hold home hope hour however huge idea imagine immediately impact
    important improve include increase individual influence information initial inside inspire
    instead interested involve issue item job join keep key kind knew know known last late later
    latest lead learn least leave left less level life like line link list listen little live
    local long longer look lot love low made main maintain major manage many matter maybe mean
    meaningful meet member mention method mind minute moment month mood more morning most move
    much name natural necessary need nervous never new next nice night none normal note nothing
    notice now number object offer often ok okay old one open opinion opportunity option order
    organize overall part particular pass passion past path pay people perfect perhaps person
    phase pick piece place plan play point popular positive possible potential power practical
    prefer prepare present pressure pretty previous probably problem proceed process produce
    progress promise proper protect prove provide purpose put question quick quite rare rather
    reach ready real reality realize really reason recall receive recent recognize recommend
    reduce regarding related release remain remember remind report require respond response rest
    result right risk role rule run sad sample save saw scared search second section see seem seen
    select send sense separate serious serve session set several shape share short show side sign
    significant similar simple simply since situation skill small smooth solution solve sometimes
    somewhere soon sorry sort sound source special specific spend spent spirit stage standard
    start state stay step still stop story strategy strong struggle stuff style success suggest
    suitable summary super support suppose sure surprised switch take taken talk task team tend
    term thank therefore thing think thought three time tip tired today together told tomorrow
    tonight took top topic total touch tough toward tried trouble true truly turn two type
    understand understood unique until update upset use user usual value various view visit wait
    walk want watch way week weekend welcome well went whatever while whole wish within without
    wonder word work world worried worth write wrong yeah year yes yesterday yet youd young
"""
EVERYDAY_CHARACTERS = (
    "爱好聊谈事叫人家看听做吃喝玩买走跑找新旧大小多少高低长短快慢早晚年月日号点天周次件种位岁"
    "更跟并过挺够段份句块条名台本部张把场首"
)
EVERYDAY_CHINESE = """
    今天 明天 昨天 最近 近期 上次 下次 这次 那次 每天 每次 平时 经常 总是 有时
    有时候 一直 一起 一点 一样 一次 一定 一般 一种 一天 一会儿 第一次 第一 首先
    其实 真的 真是 非常 特别 比较 有点 有些 很多 许多 太多 好多 更多 最好 更好
    最后 以后 后来 当时 那时 那时候 之间 以来 今年 去年 明年 早上 上午 中午 下午
    晚上 周末 时间 日子 喜欢 好的 不错 开心 高兴 快乐 难过 伤心 担心 紧张 害怕
    生气 感觉 感到 心情 希望 想要 想法 打算 准备 计划 建议 推荐 帮助 帮忙 介绍
    分享 记得 记住 忘记 提到 提过 说过 聊天 聊过 谈到 讨论 话题 问题 回答 事情
    东西 地方 方法 方式 办法 情况 原因 结果 内容 部分 方面 意思 例子 名字 朋友
    大家 别人 有人 孩子 家里 生活 工作 学习 开始 结束 继续 完成 进行 使用 选择
    决定 发现 认为 以为 看到 看看 听到 听说 做过 做到 来说 找到 得到 遇到 发生
    参加 成功 努力 变得 成为 重要 简单 容易 困难 有趣 有意思 有用 适合 合适 主要
    具体 类型 种类 分钟 小时 星期 谢谢 你好 当然 或许 可能 能不能 可不可以 要不要
    会不会 怎么办 为何 何时 哪天 几点 几次 用户 助手 还有 起来 出来 下来 过来
    回来 不会 不能 不要 不想 觉着 好像 似乎 尤其 另外 而且 并且 甚至 只是 只有
    只要 虽说 不过 尝试 确实 比如 这种 那种 其他 其它 支持 过程 带来 太棒了 一部
    一本 一张 一件 一位 提高 加入 变化 活动 兴趣 感兴趣 我会 力量 正常 自然 每个
    很好 更加 不少 不同 之一 同时 同意 同样 那么 这么 刚刚 刚才 正在 马上 立刻
    终于 突然 看来 出去 进去 进来 回去 过去 将来 未来 目前 如今 平常 日常 任何
    一切 所有 全部 各种 任务 目标 机会 能力 关系 影响 作用 效果 特点 经验 经历
    态度 状态 环境 条件 水平 程度 范围 方向 步骤
"""

SCRIPT_PAIRS = (
    # Traditional, simplified, traditional, simplified ...: the frequent characters.
    "丟丢並并乾干亂乱亞亚佈布佔占併并來来侖仑侶侣係系俠侠倆俩倉仓個个們们倫伦偉伟側侧偵侦偽伪傑杰"
    "傘伞備备傭佣傳传債债傷伤傾倾僅仅僑侨僞伪僥侥僱雇價价儀仪億亿儈侩儉俭儘尽償偿優优儲储兌兑兒儿"
    "內内兩两冊册冪幂凈净凍冻凜凛凱凯別别刪删則则剋克剛刚剝剥剮剐創创劃划劇剧劉刘劊刽劍剑劑剂勁劲"
    "動动務务勛勋勝胜勞劳勢势勳勋勵励勸劝勻匀匯汇區区協协卹恤卻却卽即厭厌厲厉參参叢丛吳吴吶呐呂吕"
    "員员唸念問问啓启啞哑啟启喚唤喪丧喫吃喬乔單单喲哟嗆呛嗎吗嗚呜嘆叹嘔呕嘗尝嘩哗嘯啸噁恶噓嘘噴喷"
    "噸吨噹当嚇吓嚐尝嚨咙嚮向嚴严囂嚣囌苏囑嘱囪囱國国圍围園园圓圆圖图團团執执堅坚堯尧報报場场塊块"
    "塗涂塢坞塵尘塹堑墊垫墜坠墮堕墳坟墻墙墾垦壇坛壓压壘垒壞坏壟垄壩坝壯壮壺壶壽寿夠够夢梦夥伙夾夹"
    "奧奥奪夺奮奋妝妆妳你姦奸娛娱婁娄婦妇媽妈嬌娇嬰婴嬸婶孃娘孫孙學学孿孪宮宫寢寝實实寧宁審审寫写"
    "寬宽寵宠寶宝將将專专尋寻對对導导屆届屍尸屜屉屢屡層层屬属岡冈峯峰島岛峽峡崗岗嶄崭嶺岭嶼屿嶽岳"
    "巋岿巒峦巖岩帥帅師师帳帐帶带幀帧幟帜幣币幫帮幹干幾几庫库廁厕廂厢廄厩廈厦廚厨廟庙廠厂廢废廣广"
    "廬庐廳厅張张強强彆别彈弹彌弥彎弯彙汇彥彦後后徑径從从復复徵征徹彻恆恒恥耻悅悦悶闷惡恶惱恼愛爱"
    "態态慘惨慚惭慣惯慫怂慮虑慶庆慼戚慾欲憂忧憊惫憐怜憑凭憚惮憤愤憫悯憲宪憶忆懇恳應应懲惩懶懒懷怀"
    "懸悬懼惧懾慑戀恋戯戏戰战戲戏戶户拋抛挾挟捨舍掃扫掄抡掙挣採采揀拣揚扬換换揮挥揹背損损搖摇搗捣"
    "搶抢搾榨摟搂摯挚摳抠摺折摻掺撈捞撐撑撓挠撣掸撥拨撫抚撲扑撻挞撾挝撿捡擁拥擄掳擇择擊击擋挡擔担"
    "據据擠挤擡抬擬拟擯摈擰拧擱搁擲掷擴扩擺摆擻擞擾扰攆撵攏拢攔拦攙搀攜携攝摄攢攒攣挛攤摊攪搅攬揽"
    "攷考敍叙敗败敘叙敵敌數数斂敛斃毙斬斩斷断於于昇升時时晉晋晝昼暈晕暢畅暫暂曆历曉晓曏向曠旷曬晒"
    "書书會会朮术東东枴拐柵栅桿杆條条棄弃棗枣棟栋棧栈棲栖楊杨楓枫業业極极榮荣構构槍枪槳桨樁桩樂乐"
    "樓楼標标樞枢樣样樸朴樹树橋桥機机橢椭橫横檔档檢检檯台檸柠檻槛櫃柜櫥橱櫻樱欄栏權权欽钦歎叹歐欧"
    "歡欢歲岁歷历歸归殘残殭僵殲歼殺杀殼壳毀毁毆殴氈毡氣气氫氢氾泛汙污決决沒没沖冲況况洩泄洶汹涼凉"
    "淒凄淚泪淨净淪沦淵渊淺浅渙涣減减渦涡測测渾浑湊凑湧涌湯汤準准溝沟溫温溼湿滄沧滅灭滌涤滙汇滬沪"
    "滯滞滲渗滾滚滿满漁渔漚沤漢汉漣涟漬渍漲涨漸渐漿浆潑泼潔洁潛潜潤润潰溃澀涩澆浇澇涝澗涧澤泽澱淀"
    "濁浊濃浓濕湿濘泞濟济濤涛濫滥濰潍濱滨濺溅濾滤瀉泻瀕濒瀝沥瀾澜灑洒灕漓灘滩灣湾灤滦災灾為为烏乌"
    "烴烃無无煉炼煙烟煥焕煩烦熒荧熱热熾炽燈灯燒烧燙烫營营燦灿燭烛燴烩燼烬爍烁爐炉爛烂爭争爲为爺爷"
    "爾尔牀床牆墙牴抵牽牵犢犊犧牺狀状狹狭狽狈猙狰猶犹獃呆獄狱獅狮獎奖獨独獰狞獲获獵猎獸兽獺獭獻献"
    "現现琺珐瑣琐瑤瑶瑩莹瑪玛瑯琅環环瓊琼甕瓮產产畝亩畢毕畫画異异畵画當当疇畴疊叠痙痉痠酸痺痹瘋疯"
    "瘍疡瘓痪瘡疮瘧疟療疗癟瘪癡痴癢痒癥症癬癣癰痈癱瘫發发皁皂皚皑皺皱盃杯盜盗盞盏盡尽監监盤盘盧卢"
    "盪荡眾众睏困睜睁瞞瞒瞭了矚瞩矯矫矽硅砲炮硯砚碩硕確确碼码磚砖礎础礙碍礦矿礫砾礬矾祕秘祿禄禍祸"
    "禦御禮礼禱祷禿秃稅税稈秆稜棱種种稱称穀谷積积穎颖穢秽穩稳穫获窓窗窩窝窪洼窮穷窯窑窺窥竄窜竅窍"
    "竈灶竊窃竝并競竞筆笔筍笋箇个箋笺節节範范築筑篩筛簍篓簡简簽签簾帘籃篮籌筹籐藤籠笼籤签籬篱籮箩"
    "籲吁粧妆粵粤糞粪糧粮糰团糾纠紀纪約约紅红紉纫紋纹納纳紐纽純纯紗纱紙纸級级紛纷紡纺紮扎細细紳绅"
    "紹绍終终組组絆绊結结絕绝絛绦絞绞絡络絢绚給给絨绒統统絲丝絹绢綁绑綏绥經经綜综綠绿綢绸維维綱纲"
    "網网綴缀綵彩綸纶綻绽綽绰綿绵緊紧緒绪緘缄線线緝缉緞缎締缔緣缘編编緩缓緬缅緯纬練练緻致縛缚縣县"
    "縫缝縮缩縱纵縴纤縷缕總总績绩繃绷織织繕缮繞绕繡绣繩绳繪绘繫系繭茧繳缴繹绎繼继續续纏缠纓缨纖纤"
    "纜缆缽钵罎坛罰罚罵骂罷罢羅罗羣群羨羡義义習习翹翘聖圣聞闻聯联聰聪聲声聳耸聶聂職职聽听聾聋肅肃"
    "肐胳脅胁脈脉脣唇脫脱脹胀腎肾腦脑腫肿腳脚腸肠膚肤膠胶膩腻膽胆膿脓臉脸臍脐臘腊臟脏臥卧臨临臺台"
    "與与興兴舉举舊旧舖铺艙舱艦舰艱艰艷艳茲兹荊荆莊庄莖茎莢荚華华萊莱萬万葉叶著着葦苇葷荤蒐搜蒼苍"
    "蓋盖蓮莲蔔卜蔣蒋蔥葱蔭荫蕩荡蕪芜蕭萧薊蓟薑姜薔蔷薦荐薩萨藍蓝藝艺藥药藹蔼蘆芦蘇苏蘊蕴蘋苹蘭兰"
    "蘿萝處处虛虚虜虏號号虧亏蛻蜕蝕蚀蝦虾蝨虱蝸蜗螞蚂螢萤蟄蛰蟬蝉蟲虫蟻蚁蠅蝇蠍蝎蠟蜡蠱蛊蠶蚕蠻蛮"
    "衆众衊蔑術术衕同衚胡衛卫衝冲衹只裏里補补裝装裡里製制複复褲裤襖袄襪袜襯衬襲袭見见規规覓觅視视"
    "親亲覺觉覽览觀观觸触訂订訃讣計计訊讯討讨訓训訖讫託托記记訛讹訝讶訟讼訣诀訪访設设許许訴诉診诊"
    "註注詐诈評评詛诅詞词詠咏詢询詣诣試试詩诗詫诧詭诡話话該该詳详誅诛誇夸誌志認认誕诞誘诱語语誠诚"
    "誡诫誣诬誤误誦诵誨诲說说説说誰谁課课誹诽誼谊調调諄谆談谈請请諒谅論论諜谍諧谐諮咨諱讳諷讽諸诸"
    "諺谚諾诺謀谋謂谓謄誊謅诌謊谎謎谜謗谤謙谦講讲謝谢謠谣謬谬謹谨謾谩譁哗證证譏讥識识譚谭譜谱譯译"
    "議议譴谴護护譽誉讀读變变讒谗讓让讕谰讚赞豈岂豎竖豐丰豔艳豬猪貍狸貓猫貝贝貞贞負负財财貢贡貧贫"
    "貨货販贩貪贪貫贯責责貯贮貳贰貴贵貶贬買买貸贷費费貼贴貿贸賀贺賂赂賃赁賄贿資资賈贾賊贼賒赊賓宾"
    "賜赐賞赏賠赔賢贤賣卖賤贱賦赋質质賬账賭赌賴赖賺赚購购賽赛贅赘贈赠贊赞贍赡贏赢贓赃贖赎贛赣趕赶"
    "趙赵趨趋跡迹踐践踴踊蹟迹蹤踪躊踌躍跃躥蹿軀躯車车軋轧軌轨軍军軒轩軟软軸轴較较載载輔辅輕轻輛辆"
    "輝辉輥辊輩辈輪轮輯辑輸输輻辐輾辗輿舆轄辖轅辕轉转轍辙轎轿轟轰辦办辭辞辮辫辯辩農农迴回這这連连"
    "週周進进遊游運运過过達达違违遙遥遜逊遞递遠远適适遲迟遷迁選选遺遗遼辽邁迈還还邊边邏逻郵邮鄉乡"
    "鄒邹鄖郧鄧邓鄭郑鄰邻鄲郸醖酝醜丑醞酝醫医醬酱釀酿釁衅釋释釘钉針针釣钓釩钒釺钎鈉钠鈍钝鈔钞鈕钮"
    "鈞钧鈣钙鈴铃鈾铀鉀钾鉅巨鉑铂鉗钳鉚铆鉛铅鉤钩鉸铰鉻铬銀银銅铜銑铣銘铭銜衔銥铱銲焊銳锐銷销銹锈"
    "銻锑鋁铝鋅锌鋇钡鋒锋鋤锄鋪铺鋭锐鋸锯鋼钢錄录錐锥錘锤錠锭錢钱錦锦錨锚錫锡錯错錳锰錶表鍁锨鍊链"
    "鍋锅鍍镀鍘铡鍛锻鍬锹鍵键鍺锗鍾钟鎂镁鎊镑鎖锁鎚锤鎢钨鎬镐鎮镇鎳镍鏈链鏟铲鏡镜鏽锈鐐镣鐘钟鐮镰"
    "鐳镭鐵铁鑄铸鑑鉴鑒鉴鑰钥鑲镶鑷镊鑼锣鑽钻鑿凿長长門门閃闪閉闭開开閏闰閑闲閒闲間间閘闸閡阂閣阁"
    "閥阀閨闺閩闽閱阅閲阅閹阉閻阎闆板闊阔闌阑闖闯關关闡阐陝陕陞升陣阵陰阴陳陈陸陆陽阳隊队階阶隕陨"
    "際际隣邻隨随險险隱隐隴陇隸隶隻只雖虽雙双雛雏雜杂雞鸡離离難难雲云電电霑沾霧雾靈灵靜静鞏巩鞦秋"
    "韆千韋韦韌韧韓韩韻韵響响頁页頂顶頃顷項项順顺須须頌颂預预頑顽頒颁頓顿頗颇領领頤颐頭头頰颊頸颈"
    "頹颓頻频顆颗題题額额顏颜顔颜願愿顛颠類类顧顾顫颤顯显顱颅顴颧風风颱台飄飘飛飞飢饥飯饭飲饮飼饲"
    "飽饱飾饰餃饺餅饼養养餌饵餒馁餓饿餘余餞饯餡馅館馆餵喂餾馏饅馒饋馈饍膳饑饥饒饶饞馋馬马馭驭馮冯"
    "馱驮馳驰馴驯駁驳駐驻駒驹駕驾駛驶駝驼駭骇駱骆駿骏騁骋騎骑騐验騙骗騰腾騷骚騾骡驅驱驕骄驗验驚惊"
    "驟骤驢驴骯肮髒脏體体髮发鬆松鬚须鬥斗鬧闹鬨哄鬱郁魚鱼魯鲁鮑鲍鮮鲜鯉鲤鯨鲸鰓鳃鱉鳖鱗鳞鳥鸟鳳凤"
    "鳴鸣鴉鸦鴕鸵鴛鸳鴦鸯鴨鸭鴻鸿鴿鸽鵑鹃鵝鹅鵬鹏鵰雕鵲鹊鶴鹤鷗鸥鷹鹰鹵卤鹹咸鹼碱鹽盐麗丽麥麦麪面"
    "麵面麼么黃黄點点黨党黴霉齊齐齋斋齒齿齡龄齣出齧啮齲龋龍龙龐庞龔龚龜龟"
)

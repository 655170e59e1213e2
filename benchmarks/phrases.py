"""Of which phrases are the memories of a benchmark made? Everyday ones, in both languages."""

from __future__ import annotations

ENGLISH = (
    "I prefer {a} over {b} when I have {n} minutes.",
    "My favourite is {a}, and I talked about {b} for {n} minutes.",
    "We decided to use {a} instead of {b} in sprint {n}.",
    "I usually start with {a} and keep {b} for later, about {n} times a year.",
    "The {a} is next to the {b} in room {n}.",
    "I learned {a} last year and want to try {b} within {n} days.",
    "For {a} please remember the {b}; it took {n} tries.",
    "My sister gave me {a} together with {b} on day {n} of the trip.",
)
CHINESE = (
    "我更喜欢{a}而不是{b}，每次大约{n}分钟。",
    "我们决定在第{n}期用{a}代替{b}。",
    "我平时先做{a}，然后才是{b}，一年大概{n}次。",
    "关于{a}请记得{b}，试了{n}次才成功。",
    "去年我学了{a}，打算{n}天内再试试{b}。",
    "我妹妹送给我{a}和{b}，是旅行的第{n}天。",
    "{a}放在{b}旁边，在{n}号房间。",
    "我聊到{a}的时候提到了{b}，说了{n}分钟。",
)
TOPICS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (
        ("手冲咖啡", "绿茶", "豆浆", "拿铁", "普洱茶", "柠檬水", "燕麦奶"),
        ("filter coffee", "green tea", "soy milk", "oat latte", "lemon water", "dark cocoa"),
    ),
    (
        ("麻婆豆腐", "清蒸鱼", "番茄炒蛋", "牛肉面", "小笼包", "凉拌黄瓜", "红烧茄子"),
        ("mushroom risotto", "lentil soup", "rye bread", "noodle salad", "apple pie", "pancakes"),
    ),
    (
        ("晨跑", "游泳", "羽毛球", "瑜伽", "登山", "骑自行车", "打太极"),
        ("morning runs", "swimming", "badminton", "yoga class", "rock climbing", "rowing"),
    ),
    (
        ("京都", "青岛", "成都", "里斯本", "冰岛", "大理古城", "西湖"),
        ("Kyoto", "Lisbon", "the Scottish coast", "Reykjavik", "Valencia", "the Black Forest"),
    ),
    (
        ("周报", "代码评审", "站会", "发布计划", "需求文档", "回归测试", "值班表"),
        ("the weekly report", "code review", "stand-up", "release plan", "test run", "rota"),
    ),
    (
        ("PostgreSQL", "消息队列", "缓存服务", "容器编排", "日志平台", "Redis", "网关"),
        ("PostgreSQL 18", "the message queue", "Redis", "a container", "log shipping", "gateway"),
    ),
    (
        ("深色主题", "等宽字体", "快捷键", "双屏", "分屏编辑", "拼写检查", "自动保存"),
        ("dark theme", "monospace fonts", "keyboard shortcuts", "two screens", "vim keys", "lint"),
    ),
    (
        ("古典音乐", "爵士乐", "民谣", "钢琴曲", "二胡", "现场演出", "老唱片"),
        ("baroque music", "jazz trio", "folk songs", "piano pieces", "vinyl records", "cello"),
    ),
    (
        ("科幻小说", "历史书", "散文集", "推理小说", "诗集", "漫画", "传记"),
        ("science fiction", "history books", "essays", "crime novels", "poetry", "biography"),
    ),
    (
        ("橘猫", "柯基", "鹦鹉", "乌龟", "金鱼", "仓鼠", "边牧"),
        ("our tabby cat", "a corgi", "the parrot", "goldfish", "the hamster", "a border collie"),
    ),
    (
        ("番茄苗", "多肉植物", "月季", "阳台花箱", "堆肥桶", "薄荷", "竹子"),
        ("tomato plants", "succulents", "roses", "balcony boxes", "compost bin", "mint"),
    ),
    (
        ("西班牙语", "书法", "摄影", "木工", "素描", "围棋", "陶艺"),
        ("Spanish lessons", "calligraphy", "photography", "woodwork", "sketching", "pottery"),
    ),
    (
        ("高铁", "地铁", "共享单车", "早班飞机", "自驾", "渡轮", "夜班火车"),
        ("the night train", "the subway", "bike sharing", "an early flight", "ferry", "the tram"),
    ),
    (
        ("年会", "家庭聚会", "同学聚会", "婚礼", "毕业典礼", "读书会", "讲座"),
        ("the annual party", "family dinner", "a wedding", "graduation", "book club", "lecture"),
    ),
    (
        ("台灯", "书架", "沙发", "空气净化器", "窗帘", "扫地机器人", "餐桌"),
        ("desk lamp", "bookshelf", "grey sofa", "air purifier", "curtains", "robot vacuum"),
    ),
    (
        ("财务预算", "客户访谈", "季度目标", "招聘计划", "市场调研", "产品路线图", "合同模板"),
        (
            "the budget",
            "customer interviews",
            "quarterly goals",
            "hiring plan",
            "roadmap",
            "survey",
        ),
    ),
)
"""A topic: its words in Chinese and in English."""

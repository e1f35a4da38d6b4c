//! Made-up records of about 1.2 KB as JSON, a quarter of them Chinese. The same number gives the same record in every run.

use zhulu_record::{Draft, Element, Evidence, Key, Kind, Put, Source, Statement};

const ENGLISH: &str = "metadata repository archive protocol harvest record library catalogue semantic ontology network \
    distributed consistency replication document extraction classification retrieval evaluation precision recall \
    learning statistical probabilistic model algorithm graph cluster kernel matrix vector sparse dense regional \
    climate river sediment coastal geographic satellite imagery spectral vegetation urban population migration \
    economic policy education course curriculum student assessment language translation corpus grammar syntax \
    chemical polymer catalyst synthesis crystal membrane thermal optical quantum magnetic plasma neutron galaxy \
    cell protein genome enzyme immune neural cardiac clinical therapy diagnosis patient cohort survey design \
    analysis method framework system approach application study review comparison improvement optimisation \
    measurement simulation experiment observation estimation prediction inference uncertainty calibration";

const CHINESE: &str = "元数据 仓储 档案 协议 收割 记录 图书馆 目录 语义 本体 网络 分布式 一致性 复制 文献 抽取 分类 检索 评价 \
    准确率 召回率 学习 统计 概率 模型 算法 图谱 聚类 矩阵 向量 区域 气候 河流 泥沙 海岸 地理 卫星 影像 光谱 植被 \
    城市 人口 迁移 经济 政策 教育 课程 学生 考核 语言 翻译 语料库 语法 化学 高分子 催化剂 合成 晶体 薄膜 热学 光学 \
    量子 磁性 等离子体 中子 星系 细胞 蛋白质 基因组 免疫 神经 临床 治疗 诊断 患者 调查 设计 分析 方法 框架 系统 途径 \
    应用 研究 综述 比较 改进 优化 测量 模拟 实验 观测 估计 预测 推断 不确定性 校准 数字 资源 开放 共享 服务 平台";

const FAMILY: &str = "王 李 张 刘 陈 杨 赵 黄 周 吴 徐 孙 胡 朱 高 林 何 郭 马 罗 梁 宋 郑 谢 韩 唐 冯 于 董 萧";
const GIVEN: &str =
    "伟 芳 娜 敏 静 丽 强 磊 军 洋 勇 艳 杰 娟 涛 明 超 秀英 霞 平 刚 桂英 文博 思远 雨桐 子涵 志强 建国";
const SURNAMES: &str = "Alder Berg Castell Dahl Evers Falk Grant Holm Ito Jansen Keller Lund Moreau Novak Osei Pereira Quist \
    Rossi Sato Tanaka Ueda Varga Weiss Xu Young Zeller";

/// What people look for, in both languages, rare and common, one word and several.
pub const QUERIES: &[&str] = &[
    "metadata",
    "repository harvest",
    "\"distributed consistency\"",
    "title:genome",
    "creator:Keller",
    "sediment coastal imagery",
    "proto*",
    "元数据",
    "分布式 复制",
    "题名:蛋白质",
    "河流泥沙",
    "\"开放共享\"",
    "校",
    "作者:王文博",
    "量子 OR quantum",
    "clinical -therapy",
    "date:2001..2009 climate",
];

/// Gives records by number.
pub struct Corpus {
    english: Vec<&'static str>,
    chinese: Vec<&'static str>,
    family: Vec<&'static str>,
    given: Vec<&'static str>,
    surnames: Vec<&'static str>,
}

impl Default for Corpus {
    fn default() -> Self {
        let words = |text: &'static str| text.split_whitespace().collect();
        Corpus {
            english: words(ENGLISH),
            chinese: words(CHINESE),
            family: words(FAMILY),
            given: words(GIVEN),
            surnames: words(SURNAMES),
        }
    }
}

/// A small generator of our own: the standard library has none, and what it gives must never change.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }

    /// Words as they occur: a few often, most seldom.
    fn word(&mut self, words: &[&'static str]) -> &'static str {
        let place = self.roll(words.len()) * self.roll(words.len()) / words.len();
        words[place]
    }
}

impl Corpus {
    /// The change that brings record `number` in.
    pub fn draft(&self, number: u64) -> Draft {
        let mut dice = Dice(number.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        for _ in 0..4 {
            dice.roll(2);
        }
        let chinese = number.is_multiple_of(4);
        let (language, words, gap) = if chinese { ("zh", &self.chinese, "") } else { ("en", &self.english, " ") };
        let text = |dice: &mut Dice, count: usize| (0..count).map(|_| dice.word(words)).collect::<Vec<_>>().join(gap);
        let mut say = Vec::with_capacity(14);
        say.push(Statement::new(Element::TITLE, text(&mut dice, 8)).lang(language));
        for _ in 0..=dice.roll(3) {
            let name = if chinese {
                format!("{}{}", dice.word(&self.family), dice.word(&self.given))
            } else {
                format!("{}, {}.", dice.word(&self.surnames), char::from(b'A' + dice.roll(26) as u8))
            };
            say.push(Statement::new(Element::CREATOR, name));
        }
        // Chinese says in three bytes a character what English says in six.
        let length = if chinese { 46 } else { 36 };
        let half = text(&mut dice, length / 2);
        let stop = if chinese { "。" } else { ". " };
        say.push(Statement::new(Element::ABSTRACT, half + stop + &text(&mut dice, length / 2)).lang(language));
        for _ in 0..4 {
            say.push(Statement::new(Element::SUBJECT, dice.word(words)).lang(language));
        }
        let year = 1990 + dice.roll(36);
        say.push(Statement::new(Element::DATE, format!("{year}-{:02}", dice.roll(12) + 1)));
        say.push(Statement::new(Element::LANGUAGE, language));
        say.push(Statement::new(Element::IDENTIFIER, format!("https://repository.example/{number}")));
        let put = Put {
            kind: Kind::Document,
            keys: vec![Key::Oai(format!("oai:repository.example:{number}"))],
            statements: say,
            evidence: Evidence::by("harvest:https://repository.example/oai").sure(0.95),
            ..Put::default()
        };
        Draft::put(Source::machine("https://repository.example/oai"), put).expect("it has a key")
    }
}

# 门户的中文文字。英文文件有相同的键，由测试保证。

## 框架
skip = 跳到正文
nav = 主导航
nav-search = 检索
nav-add = 添加文献
nav-sources = 来源
nav-about = 关于
footer-tagline = 采集元数据，并使之保持同步
back-home = 返回首页
sign-in = 登录
sign-out = 退出
signed-in-as = 已登录

## 登录
sign-in-explained = 任何人都可以浏览；添加和编辑需要令牌。
sign-in-token = 令牌
sign-in-wrong = 令牌无效。请检查是否完整复制。
sign-in-help = 在服务器上用此命令生成令牌：
needs-sign-in = 此操作需要登录。

## 检索
search-label = 检索目录
search-placeholder = 题名、作者、关键词……
search-button = 检索
search-none = 没有找到
search-none-hint = 请减少或更换检索词，或去掉一个筛选条件。
search-count = 第 { $from }–{ $to } 条，共 { $n } 条
search-unreadable = 无法理解此检索式：
results = 结果
chosen = 已选条件
remove = 去掉
narrow = 缩小范围
browse = 浏览
pages = 结果分页
previous = 上一页
next = 下一页
facet-kind = 类型
facet-source = 来源
facet-language = 语种
facet-year = 年份
facet-creator = 作者
facet-subject = 主题
language-zh = 中文
language-en = 英文
language-ja = 日文
language-ko = 韩文
language-fr = 法文
language-de = 德文
language-ru = 俄文
language-es = 西班牙文

## 首页
home-lead = 中英文皆可检索：既查著录内容，也查文献正文。
home-count = 共 { $n } 条记录
home-updated = 最近更新
home-latest = 最新记录
empty-title = 目录还是空的
empty-lead = 添加一份文献，题名、作者和摘要会从页面中自动读出。
empty-samples = 用样例试一试
empty-samples-explained = 随 zhulu 附带的几份中英文短文。
add-samples = 添加样例
sign-in-for-samples = 登录后添加样例
sign-in-printed = 服务器首次启动时已给出登录链接。
empty-own = 添加自己的文献
empty-own-explained = PDF 文件，一次可添加一份或多份。
empty-command = 使用命令行
empty-command-explained = 文件、整个文件夹，或他人的仓储：

## 记录
untitled = 无题名
record-changed = 更新于
statements = 著录内容
files = 文件
about-record = 关于此记录
identifier = 标识符
formats = 其他格式
sources = 著录来源
sets = 集合
harvested-from = 收割自
alike = 可能相同的记录
page-image = 著录所依据的页面
confidence = 可信度 { $n } %
at-page = 第 { $n } 页
at-paragraph = 第 { $n } 段
at-slide = 第 { $n } 张幻灯片
at-property = 属性 { $name }
at-bytes = 第 { $from }–{ $to } 字节
language = 语种
kind-document = 文献
kind-page = 网页
kind-course = 课程
kind-api = 接口
kind-dataset = 数据集
kind-media = 音像

## 历史
history = 历史
did-put = 著录了
did-delete = 删除了记录
did-release = 交还机器：
did-release-all = 将整条记录交还机器
did-erase = 清除了此前的全部内容
was-erased = （已清除）
conflict = 两人意见不一：
conflict-existence = 记录是否应当存在
conflict-explained = 他们修改时没有看到对方的修改。以最后一次为准，直到有人再次编辑。
deleted-title = 此记录已删除
deleted-explained = 标识符予以保留，不会另作他用，收割者也能得知删除。
erased-title = 此记录已清除
erased-explained = 因法律原因移除，原有内容均未保留。
bring-back = 恢复记录

## 编辑
edit = 编辑
edit-explained = 您保存的内容优先于一切机器结果，重新读取后依然有效，直到您交还为止。留空表示没有值。
edit-more = 更多元素
edit-stale = 您编辑期间有人修改了此记录。您的文字仍在这里；请与记录核对后再保存。
save = 保存
cancel = 取消
delete = 删除记录
delete-confirm = 确定删除此记录？标识符和历史会保留。
release = 交还机器
release-all = 全部交还机器
release-explained = 放弃人工著录的内容，重新显示机器读出的内容。

## 添加
add-title = 添加文献
add-explained = 文件会被保存、读取，成为记录；每份需要几秒钟。
add-drop = 将文件拖到这里
add-choose = 或点击选择；PDF 效果最好
add-button = 添加
add-limit = 每次最多 { $n } MB。
add-otherwise = 其他方式
add-more = 继续添加
progress-title = 正在读取……
progress-over = 已完成
progress-count = 已完成 { $done } / { $n }
state-waiting = 等待中
state-working = 读取中
state-failed = 失败
state-done = 完成

## 来源与关于
sources-explained = 目录中的著录来自：文件夹、仓储、订阅源，以及人。
source-name = 名称
source-kind = 类型
source-address = 地址
source-records = 记录数
source-kind-files = 文件
source-kind-oai = 仓储
source-kind-feed = 订阅源
source-kind-site = 网站
jobs = 进行中的工作
about-lead = zhulu（著录）从文献和仓储中采集元数据，为每条著录保留依据，并对外发布。
figure-records = 条记录
figure-deleted = 条已删除
figure-log = 次变更
doors = 程序接口
door-oai = 以都柏林核心收割记录，含删除与集合。
door-rss = 订阅最新记录。
door-api = 以 JSON 检索、读取、编辑和上传。
search-help = 如何检索
help-words = 包含全部检索词的记录
help-phrase = 相邻出现的词组
help-prefix = 以此开头的词
help-field = 题名中的词、作者
help-date = 起止年份
feed-description = 最新记录

## 出错时
status-400 = 无法理解此请求
status-401 = 请先登录
status-403 = 请求来自其他网站
status-404 = 这里什么也没有
status-409 = 无法执行
status-413 = 文件过大
status-503 = 暂时无法使用
status-507 = 存储空间不足
status-other = 出错了

## 元素
element-title = 题名
element-alternative = 其他题名
element-creator = 作者
element-contributor = 其他责任者
element-affiliation = 作者单位
element-abstract = 摘要
element-description = 描述
element-subject = 主题
element-publisher = 出版者
element-date = 日期
element-created = 创建日期
element-issued = 出版日期
element-modified = 修改日期
element-type = 类型
element-format = 格式
element-extent = 篇幅
element-identifier = 标识符
element-citation = 引文
element-source = 来源
element-language = 语种
element-relation = 关联
element-is-part-of = 所属
element-coverage = 覆盖范围
element-spatial = 地点
element-temporal = 时期
element-bounding-box = 地理范围
element-rights = 权限
element-license = 许可
element-hours = 学时
element-parameter = 参数

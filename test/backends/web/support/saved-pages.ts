/** Holds pages of many kinds, written for these tests: the content that a reader wants, and what sites put around it. */

export type SavedPage = { readonly name: string; readonly html: string; readonly content: string }

const paragraphs = (...texts: readonly string[]): string => texts.map((text) => `<p>${text}</p>`).join('\n')

const nav = `<header><a class="logo" href="/">The Site</a><nav class="menu"><ul><li><a href="/news">News</a></li><li><a href="/sport">Sport</a></li><li><a href="/login">Log in</a></li></ul></nav></header>`
const cookies = `<div id="cookie-consent" class="cookie-banner" role="dialog"><p>We and our 841 partners store cookies on your device.</p><button>Accept all</button><button>Settings</button></div>`
const footer = `<footer><ul><li><a href="/imprint">Imprint</a></li><li><a href="/privacy">Privacy</a></li></ul><p>© The Site. All rights reserved.</p></footer>`
const related = `<aside class="related sidebar"><h2>Most read</h2><ul><li><a href="/1">Ten gardens for a rainy day</a></li><li><a href="/2">Why trains are late</a></li></ul></aside>`
const script = `<script>window.dataLayer=window.dataLayer||[];function gtag(){dataLayer.push(arguments)}</script><style>.menu{display:flex}</style>`

const page = (lang: string, title: string, body: string, dir = 'ltr'): string =>
  `<!doctype html><html lang="${lang}" dir="${dir}"><head><meta charset="utf-8"><title>${title}</title>${script}</head><body>${body}</body></html>`

const english = paragraphs(
  'The lighthouse on the northern point was built in two summers, because the storms of the first winter carried away the scaffold and half of the stones.',
  'Its keeper, a carpenter by trade, wrote down the weather every evening for thirty-one years, and his books are the longest series of measurements of this coast.',
  'Scientists of the institute for the sea have now compared them with the data of a buoy, and found that the waves of autumn begin nine days earlier than in his time.',
  'The difference is small, said the leader of the group, but it can be seen in every decade, and it agrees with models of the wider ocean.',
  'The books will be shown in the museum of the harbour from the first of May, together with the lamp, which was taken down when the tower got electric light.',
)
const code = `<h2>Install</h2><p>Add the package to your project and import the function that opens a connection.</p><pre><code class="language-sh">npm install tidewater</code></pre><h2>Use</h2><p>The function takes an address and options. It returns a promise, which is rejected when the server cannot be reached within the time limit.</p><pre><code class="language-js">import { open } from 'tidewater'
const gauge = await open('https://gauge.example', { timeoutMs: 500 })
console.log(gauge.level)</code></pre><h2>Options</h2><table><tr><th>name</th><th>default</th><th>meaning</th></tr><tr><td>timeoutMs</td><td>1000</td><td>how long to wait for the server</td></tr><tr><td>retries</td><td>3</td><td>how often a failed request is repeated</td></tr></table><p>Both options may also be set by variables of the environment, which is useful in containers.</p>`
const rows = Array.from(
  { length: 24 },
  (_, at) => `<tr><td>Harbour ${at}</td><td>${at % 12}:${10 + at}</td><td>${at / 10} m</td></tr>`,
).join('')
const table = `<h1>Tides of the week</h1><p>All times are local. Heights are above the lowest tide.</p><table><thead><tr><th>place</th><th>high water</th><th>height</th></tr></thead><tbody>${rows}</tbody></table>`
const posts = [
  [
    'anna',
    'My boat takes water at the stern when I motor against the waves. The seal of the shaft is new, and the bilge was dry in the harbour. What else could it be?',
  ],
  [
    'bo',
    'Look at the exhaust. A cracked hose lets water in only while the engine runs, and the place is hard to see behind the tank. I searched for a whole season.',
  ],
  [
    'carla',
    'It was the rudder bearing on mine. Put blotting paper around it, motor for ten minutes and see which side gets wet first.',
  ],
  [
    'anna',
    'Thank you both! It was the hose: a crack as long as a finger, right behind the clamp. A new one costs twelve euros.',
  ],
] as const
const forum = posts
  .map(([name, text]) => `<div class="post"><div class="text"><p>${name}</p><p>${text}</p></div></div>`)
  .join('')
const shop = `<h1>Oilskin jacket North</h1><p>A jacket for wet days at sea: waxed cotton, a hood that fits over a hat, and pockets that close with two fingers.</p><ul><li>Weight: 1.2 kg</li><li>Outside: cotton with wax, made in Scotland</li><li>Lining: wool, can be taken out</li><li>Sizes: S to XXL</li></ul><p>Price: 249 euros, with delivery in four to six days. You may send it back for thirty days, worn or not.</p><p>Wash it by hand in cold water, never with soap, and wax the seams again once a year before the winter.</p>`
const recipe = `<h1>Fish soup of the harbour</h1><p>A soup for six, made of what the boats bring home, and ready in forty minutes.</p><h2>Ingredients</h2><ul><li>1 kg fish without bones</li><li>500 g potatoes</li><li>2 onions and 3 carrots</li><li>200 ml cream</li><li>salt, pepper and dill</li></ul><h2>Steps</h2><ol><li>Peel and cut the vegetables, and fry them in butter for five minutes without letting them get brown.</li><li>Add a litre of water and cook the vegetables until they are soft.</li><li>Cut the fish into large pieces, put them in, and let them stand for eight minutes below the boil.</li><li>Stir in the cream, season, and serve the soup with dill and dark bread.</li></ol>`
const japanese = paragraphs(
  '北の岬の灯台は二つの夏をかけて建てられた。最初の冬の嵐が足場と石の半分を持ち去ったためである。',
  '灯台守はもともと大工で、三十一年のあいだ毎晩その日の天気を書き残した。彼の帳面は、この海岸で最も長い観測の記録となっている。',
  '海洋研究所の科学者たちは、その記録を浮標のデータと比べ、秋の波が当時より九日早く始まることを見つけた。',
  '差は小さいが、どの十年にも見られ、より広い海のモデルとも一致すると研究班の代表は述べた。帳面は五月一日から港の博物館で公開される。',
)
const chinese = paragraphs(
  '北角的灯塔用了两个夏天才建成，因为第一个冬天的风暴卷走了脚手架和一半的石料。',
  '守塔人原本是木匠，三十一年间每天晚上都记下当天的天气。他的本子是这段海岸上最长的观测记录。',
  '海洋研究所的科学家把这些记录与浮标的数据作了比较，发现秋天的海浪比他那个时代早到九天。',
  '研究组组长说，差别虽然很小，但在每个十年里都能看到，也与更大海域的模型一致。这些本子将从五月一日起在港口博物馆展出。',
)
const korean = paragraphs(
  '북쪽 곶의 등대는 두 번의 여름에 걸쳐 지어졌다. 첫 겨울의 폭풍이 비계와 돌의 절반을 쓸어 갔기 때문이다.',
  '등대지기는 본래 목수였는데, 서른한 해 동안 저녁마다 그날의 날씨를 적었다. 그의 공책은 이 해안에서 가장 긴 관측 기록이다.',
  '해양 연구소의 과학자들은 그 기록을 부표의 자료와 비교하여, 가을 파도가 그때보다 아흐레 일찍 시작된다는 것을 알아냈다.',
  '차이는 작지만 모든 십 년에서 나타나며 더 넓은 바다의 모형과도 맞는다고 연구 책임자는 말했다. 공책은 오월부터 항구 박물관에서 볼 수 있다.',
)
const arabic = paragraphs(
  'بُنيت المنارة على الرأس الشمالي في صيفين، لأن عواصف الشتاء الأول حملت السقالة ونصف الحجارة.',
  'كان حارسها نجارًا، وكتب حالة الطقس كل مساء طوال إحدى وثلاثين سنة، ودفاتره هي أطول سلسلة قياسات على هذا الساحل.',
  'قارن علماء معهد البحار الآن هذه الدفاتر ببيانات عوامة، ووجدوا أن أمواج الخريف تبدأ قبل تسعة أيام مما كانت عليه في زمنه.',
  'قال رئيس المجموعة إن الفرق صغير، لكنه يظهر في كل عقد ويتفق مع نماذج المحيط الأوسع. ستُعرض الدفاتر في متحف الميناء من أول مايو.',
)
const hebrew = paragraphs(
  'המגדלור בכף הצפוני נבנה בשני קיצים, כי סערות החורף הראשון סחפו את הפיגומים ומחצית מן האבנים.',
  'שומר המגדלור היה נגר, ובמשך שלושים ואחת שנים רשם כל ערב את מזג האוויר. המחברות שלו הן סדרת המדידות הארוכה ביותר בחוף הזה.',
  'מדענים ממכון הים השוו אותן לנתוני מצוף ומצאו שגלי הסתיו מתחילים תשעה ימים מוקדם יותר מאשר בימיו.',
  'ההבדל קטן, אמר ראש הקבוצה, אבל הוא נראה בכל עשור ומתאים למודלים של האוקיינוס. המחברות יוצגו במוזיאון הנמל מאחד במאי.',
)
const questions = `<h1>Questions about the ferry</h1><dl><dt>When does the first ferry leave?</dt><dd>At ten to six on weekdays, and at eight on Sundays and holidays.</dd><dt>May I take a bicycle?</dt><dd>Yes, for three euros. Bicycles with a trailer need a place, which you can book until the evening before.</dd><dt>What happens in a storm?</dt><dd>From wind force nine on, no ferry leaves. Tickets stay valid for a year, and a bus drives around the bay.</dd></dl>`
const article = (body: string, title = '') => `<main><article>${title && `<h1>${title}</h1>`}${body}</article></main>`
const around = (main: string) => `${nav}${main}${related}${footer}`

export const savedPages: readonly SavedPage[] = [
  { name: 'an article', html: page('en', 'The lighthouse', around(article(english))), content: english },
  {
    name: 'an article in plain elements',
    html: page('en', 'The lighthouse', around(`<div id="content"><div class="text">${english}</div></div>`)),
    content: english,
  },
  {
    name: 'news with a cookie banner',
    html: page('en', 'The lighthouse', cookies + around(article(english))),
    content: english,
  },
  {
    name: 'a page of the nineties',
    html: `<html><head><title>Tower</title></head><body bgcolor=white><table><tr><td><a href=a>Home</a></td><td><font face=arial>${english}</font></td></tr></table></body></html>`,
    content: english,
  },
  {
    name: 'an article without closing tags',
    html: page('en', 'The lighthouse', `${nav}<article>${english.replaceAll('</p>', '')}</article>${footer}`),
    content: english,
  },
  { name: 'documentation with code', html: page('en', 'Tidewater', around(article(code))), content: code },
  { name: 'a page of one table', html: page('en', 'Tides', `${nav}<main>${table}</main>${footer}`), content: table },
  {
    name: 'a thread of a forum',
    html: page('en', 'Water in the boat', `${nav}<main>${forum}</main>${footer}`),
    content: forum,
  },
  { name: 'a shop', html: page('en', 'Oilskin', `${nav}<main>${shop}</main>${footer}`), content: shop },
  { name: 'a recipe', html: page('en', 'Fish soup', around(`<main>${recipe}</main>`)), content: recipe },
  {
    name: 'questions and answers',
    html: page('en', 'The ferry', `${nav}<main>${questions}</main>${footer}`),
    content: questions,
  },
  { name: 'Japanese', html: page('ja', '灯台', around(article(japanese))), content: japanese },
  { name: 'Chinese', html: page('zh', '灯塔', around(article(chinese))), content: chinese },
  { name: 'Korean', html: page('ko', '등대', around(article(korean))), content: korean },
  { name: 'Arabic', html: page('ar', 'المنارة', around(article(arabic)), 'rtl'), content: arabic },
  { name: 'Hebrew', html: page('he', 'המגדלור', around(article(hebrew)), 'rtl'), content: hebrew },
]

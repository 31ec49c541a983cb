/**
 * Lists the function words of languages: a query is searched without them, because they are in nearly every text. Only
 * those of the query's own language count: "war" is one in German and none in English.
 */

const split = (text: string): readonly string[] => text.trim().split(/\s+/u)

const english = split(`
  a an the this that these those each every either neither both all any some such no not nor only own same so than too very
  i me my mine myself we us our ours ourselves you your yours yourself he him his himself she her hers herself it its itself
  they them their theirs themselves one ones who whom whose which what when where why how whether
  am is are was were be been being have has had having do does did doing done can could will would shall should may might must
  ain aren couldn didn doesn don hadn hasn haven isn mightn mustn needn shan shouldn wasn weren won wouldn ll ve re
  and or but if because as until while of at by for with about against between into through during before after above below
  to from up down in out on off over under again further then once here there also just even ever still yet
  upon within without toward towards among across per via let lets got get gets getting
`)

const german = split(`
  der die das den dem des ein eine einen einem einer eines kein keine keinen keinem keiner dieser diese dieses diesen diesem
  jener jene jenes jeder jede jedes jeden alle allem allen aller alles welcher welche welches welchen welchem
  ich mich mir mein meine meinen meinem meiner du dich dir dein deine deinen deinem deiner er ihn ihm sein seine seinen seinem
  seiner sie ihr ihre ihren ihrem ihrer es wir uns unser unsere unseren unserem euch euer eure sich man
  wer wen wem wessen was wann wo wohin woher warum wieso weshalb wie ob
  bin bist ist sind seid war warst waren wart gewesen sei wird werden wirst wurde wurden worden habe hast hat haben hatte hatten
  gehabt kann kannst können konnte konnten muss musst müssen musste soll sollen sollte will willst wollen wollte darf dürfen
  möchte würde würden hätte hätten wäre wären
  und oder aber denn weil dass daß wenn als da damit obwohl sondern doch nicht nichts nur auch noch schon sehr mehr
  in im an am auf aus bei beim bis durch für gegen mit nach ohne seit über um unter vom von vor während wegen zu zum zur zwischen
  hier dort dann dabei dazu davon dafür darüber daran darauf etwas so eben mal ja nein
`)

const french = split(`
  le la les l un une des du de d au aux ce cet cette ces mon ma mes ton ta tes sa ses notre nos votre vos leur leurs
  je j me m moi tu te t toi il elle on nous vous ils elles lui se s soi y en qui que qu quoi dont où quel quelle quels quelles
  quand comment pourquoi combien lequel laquelle lesquels
  suis es est sommes êtes sont étais était étions étaient été être sera serait ai as avons avez ont avais avait avaient eu avoir
  aura aurait fait faire fais peut peux pouvait pouvoir doit dois devoir va vais vont
  et ou mais donc or ni car si comme parce puisque lorsque ne n pas plus moins très aussi bien déjà encore jamais toujours
  à dans par pour sur sous avec sans vers chez entre depuis pendant avant après contre c cela ça ceci celui celle ceux celles
  là ici alors jusque
`)

const spanish = split(`
  el la los las lo un una unos unas al del este esta estos estas ese esa esos esas aquel aquella aquellos aquellas esto eso
  yo me mi mis mí tú te ti tu tus él ella ello nosotros nosotras vosotros nos os su sus suyo suya le les se sí conmigo contigo usted
  ustedes que qué quien quién quienes cual cuál cuales cuáles cuando cuándo donde dónde adónde como cómo cuanto cuánto cuánta
  cuántos cuántas por porque
  soy eres es somos son era eras éramos eran fui fue fuimos fueron ser sido estoy está estás estamos están estaba estaban estar he
  has ha hemos han había habían haber hay tengo tiene tienen tenía tener puede pueden podía poder debe deben hace hacer va van voy
  y e o u ni pero sino si aunque pues no más menos muy también tampoco ya aún todavía nunca siempre sólo
  a ante bajo con contra de desde en entre hacia hasta para según sin sobre tras durante
`)

const russian = split(`
  и в во не что он на я с со как а то все она так его но да ты к у же вы за бы по только ее её мне было вот от меня еще ещё нет о
  из ему теперь когда даже ну вдруг ли если уже или ни быть был него до вас нибудь опять уж вам ведь там потом себя ничего ей
  может они тут где есть надо ней для мы тебя их чем была сам чтоб чтобы без будто чего раз тоже себе под будет ж тогда кто этот
  того потому этого какой какая какое какие каким какую каких совсем ним здесь этом один почти мой моя мои моё моего моей тем нее
  неё сейчас были куда зачем всех никогда можно при наконец два об другой хоть после над больше тот через эти нас про всего них
  много разве три эту впрочем свою этой перед иногда лучше чуть том нельзя такой им более всегда конечно всю между это наш наша
  наше наши ваш твой который которая которое которые сколько почему откуда чей чья буду будем будут мной мною нам ними
`)

const others = split(`
  het een van dat niet zijn wij jij zij hij deze dit wat waar wanneer waarom hoe welke heeft hebben was waren werd wordt naar bij
  voor maar ook nog dan wel geen mijn onze
  il gli una uno di da con per tra fra che chi cui è sono sei siamo era erano ho hai ha abbiamo hanno questo questa questi quello
  quella mio mia suo sua nostro loro perché quando dove come quale quanto anche già ancora della delle dello degli nel nella
  o os um uma uns umas do da dos das no na nos nas ao pelo pela com sem para por que quem qual quando onde como quanto não sim eu ele
  ela nós eles elas meu minha seu sua nosso foi eram são está estava tem tinha mais muito também já ainda
`)

/** Accents are removed from both the words and the lists: many people type without them. */
const foldAccents = (word: string): string => word.toLowerCase().normalize('NFD').replace(/\p{M}/gu, '')

const languages = { en: english, de: german, fr: french, es: spanish, ru: russian } as const
export type Language = keyof typeof languages

const functionWords: ReadonlyMap<Language, ReadonlySet<string>> = new Map(
  Object.entries(languages).map(([name, words]) => [name as Language, new Set(words.map(foldAccents))]),
)
const otherFunctionWords: ReadonlySet<string> = new Set(others.map(foldAccents))

/** The function words of a query, in lower case. */
export function findFunctionWords(words: readonly string[]): ReadonlySet<string> {
  const counts = countFunctionWords(words)
  const highest = Math.max(0, ...counts.values())
  const lists = [...counts].flatMap(([language, count]) => (count === highest ? functionWords.get(language)! : []))
  // Two languages have words in common, so words of both may be meant.
  const isSure = highest > 1 && lists.length === 1
  const isFunctionWord = (word: string) =>
    lists.some((list) => list.has(word)) || (!isSure && otherFunctionWords.has(word))
  return new Set(words.filter((word) => isFunctionWord(foldAccents(word))).map((word) => word.toLowerCase()))
}

/** How many of the words are function words of each language. */
export function countFunctionWords(words: readonly string[]): ReadonlyMap<Language, number> {
  const counts = new Map<Language, number>()
  for (const word of words.map(foldAccents))
    for (const [language, list] of functionWords)
      if (list.has(word)) counts.set(language, (counts.get(language) ?? 0) + 1)
  return counts
}

/** Words and particles of Chinese. Longer ones come first, so that a part of one is not removed alone. */
const chinese = split(`
  为什么 怎么样 有没有 是不是 什么时候 多少 什么 怎么 怎样 哪里 哪儿 哪个 哪些 谁的 我们 你们 他们 她们 它们 咱们 这个 那个 这些 那些 这里 那里 这样 那样
  因为 所以 但是 而且 或者 如果 虽然 以及 关于 对于 一个 一些 没有 可以 已经 曾经 时候 的话 請問 请问 為什麼 什麼 怎麼 我們 你們 他們 這個 那個 哪裡
  的 了 吗 嗎 呢 吧 啊 是 在 我 你 他 她 它 您 这 那 這 哪 谁 誰 和 与 與 或 及 也 都 就 还 還 不 没 沒 被 把 让 讓 给 給 跟 对 對 从 從 到 得 着 过 過 几 幾 吗
`)

/** Particles of Japanese, and endings of its verbs. */
const japanese = split(`
  ありますか ありました ありません いましたか でしたか ましたか ですか ますか でした ました ません ください について に関して
  どのように どうやって どこで いつから いつまで だれが だれと なぜ どうして どこ いつ だれ 誰 どの どれ なに 何 どう どんな いくつ いくら
  この その あの これ それ あれ ここ そこ あそこ わたし 私たち 私 僕 あなた 彼女 彼 した している していた する して です ます だった という から まで より など
  ので のに けど けれど しかし また そして は が を に へ と で の も や か ね よ な だ た て
`)

/** Particles that follow a word of Korean, longest first. */
const koreanParticles = split(`
  에서부터 으로부터 이라고 에게서 한테서 에서는 에서도 에게는 으로는 까지는 부터는 했었나요 했나요 했습니까 습니까 입니까 인가요 였나요 이었나요
  했어요 합니다 습니다 입니다 에서 에게 한테 께서 까지 부터 처럼 보다 마다 조차 이나 으로 이랑 하고 라고 에는 에도 와의 과의 들은 들이 들을 들의
  은 는 이 가 을 를 의 에 도 만 와 과 로 랑 나 야 께 요
`)

const koreanFunctionWords: ReadonlySet<string> = new Set(
  split(`
  나 나는 내 내가 저 저는 제 제가 우리 우리는 우리가 너 당신 그 그는 그녀 그녀는 이 저것 그것 이것 언제 어디 어디서 어디에 어디에서 누구 누가 무엇 무엇을 뭐 뭘 왜
  어떻게 어떤 어느 몇 얼마나 얼마 있나요 있었나요 있어요 있습니까 있었습니까 있다 있는 있었다 했나요 했어요 했습니까 했다 하는 하나요 할 한 하고 합니까 되나요
  됐나요 그리고 그러나 하지만 또는 및 대해 대한 관해 것 것은 것을 때 수 등
`),
)

/** Removes the particle of a Korean word. Undefined for a function word. */
export function stripKoreanParticle(word: string): string | undefined {
  if (koreanFunctionWords.has(word)) return undefined
  const particle = koreanParticles.find((one) => word.length > one.length + 1 && word.endsWith(one))
  return particle === undefined ? word : word.slice(0, -particle.length)
}

const byLength = (words: readonly string[]): string =>
  [...new Set(words)].toSorted((one, other) => other.length - one.length).join('|')

const chinesePattern = new RegExp(byLength(chinese), 'gu')
const japanesePattern = new RegExp(byLength([...japanese, ...chinese.filter((word) => word.length > 1)]), 'gu')

/** Splits a run of Han and kana at its function words. Hiragana tells that it is Japanese, where the Chinese ones are nouns. */
export const splitAtFunctionWords = (run: string): readonly string[] =>
  run.split(/\p{Script=Hiragana}/u.test(run) ? japanesePattern : chinesePattern).filter((part) => part !== '')

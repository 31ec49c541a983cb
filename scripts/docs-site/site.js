// The search of the documentation site. The word index is loaded when the field gets the focus. Results are elements.
const field = document.querySelector('#search')
const results = document.querySelector('#results')
const maxResults = 12
let index

document.querySelector('.search').hidden = false
field.addEventListener('focus', () => void load())
field.addEventListener('input', () => void show())
document.addEventListener('keydown', (event) => {
  const isTyping = /^(?:INPUT|TEXTAREA)$/.test(document.activeElement?.tagName ?? '')
  if (event.key === '/' && !isTyping) {
    event.preventDefault()
    field.focus()
  }
  if (event.key === 'Escape' && document.activeElement === field) {
    field.value = ''
    void show()
  }
})

function load() {
  index ??= fetch('/docs/search.json').then(async (answer) => decode(await answer.json()))
  return index
}

/** The index has the differences of section numbers. */
function decode({ words, ...rest }) {
  for (const list of Object.values(words)) for (let at = 1; at < list.length; at++) list[at] += list[at - 1]
  return { ...rest, words: new Map(Object.entries(words)) }
}

async function show() {
  const asked = field.value
  const words = asked
    .toLowerCase()
    .split(/[^\p{L}\p{N}_]+/u)
    .filter((word) => word.length > 1)
  if (!words.length) return results.replaceChildren()
  const { pages, sections, words: known } = await load()
  if (asked !== field.value) return
  const found = rank(words, sections, known, pages)
  if (!found.length) return results.replaceChildren(line('Nothing found.'))
  results.replaceChildren(...found.map((number) => renderHit(sections[number], pages)))
}

/** Sections that have all words; the last word may be a beginning. Hits in titles come first. */
function rank(words, sections, known, pages) {
  const scores = new Map()
  words.forEach((word, at) => {
    const isLast = at === words.length - 1
    const here = new Set(known.get(word))
    for (const [one, list] of isLast ? known : []) if (one.startsWith(word)) for (const number of list) here.add(number)
    for (const number of here) {
      const [page, title] = sections[number]
      const isTitle = title.toLowerCase().includes(word) ? 3 : 0
      const isPage = pages[page][1].toLowerCase().includes(word) ? 2 : 0
      const [count, score] = scores.get(number) ?? [0, 0]
      scores.set(number, [count + 1, score + 1 + isTitle + isPage])
    }
  })
  return [...scores]
    .filter(([, [count]]) => count === words.length)
    .toSorted(([one, [, a]], [other, [, b]]) => b - a || one - other)
    .slice(0, maxResults)
    .map(([number]) => number)
}

function renderHit([page, title, anchor], pages) {
  const [address, name] = pages[page]
  const link = document.createElement('a')
  link.href = anchor ? `${address}#${anchor}` : address
  link.textContent = anchor ? `${name} › ${title}` : name
  return line(link)
}

function line(content) {
  const item = document.createElement('li')
  item.append(content)
  return item
}

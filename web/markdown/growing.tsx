/** Draws Markdown that grows as elements. Nothing here takes HTML or requests anything. */

import { type ComponentChildren, createContext, type VNode } from 'preact'
import { useContext, useMemo, useRef } from 'preact/hooks'
import { t } from '../words/words.ts'
import { CodeBlock } from './code-block.tsx'
import { FileLink } from './file-view.tsx'
import type { Node } from './lex.ts'
import type { CheckedLink } from './links.ts'
import { showBidi } from './links.ts'
import { Math } from './math.tsx'
import { openLink } from './open-link.ts'
import { collectNamed, type Named, type Source } from './sources.ts'
import { emptyReading, type Reading, readMore } from './stream.ts'

/** The labels of the footnotes of a text, in their order. */
const Notes = createContext<readonly string[]>([])

/** Closed blocks keep their elements, so that a growing text draws its last block only. */
export function Growing({ text }: { readonly text: string }) {
  const reading = useRef<Reading>(emptyReading)
  const drawn = useRef<VNode[]>([])
  const named = useRef<Named>({ sources: [], notes: [] })
  return useMemo(() => {
    const next = readMore(reading.current, text)
    if (next.closed.length < drawn.current.length) drawn.current = []
    for (const block of next.closed.slice(drawn.current.length))
      drawn.current = [...drawn.current, <Fragments key={`c${drawn.current.length}`} nodes={block.nodes} />]
    reading.current = next
    const found = collectNamed([...next.closed, ...next.open])
    // The same list keeps the references of closed blocks as they are.
    const notes = found.notes.join() === named.current.notes.join() ? named.current.notes : found.notes
    named.current = { sources: found.sources, notes }
    return (
      <Notes.Provider value={notes}>
        <div class="markdown" dir="auto">
          {drawn.current}
          {next.open.map((block, at) => (
            <Fragments key={`c${drawn.current.length + at}`} nodes={block.nodes} />
          ))}
          {found.sources.length > 0 && <Sources sources={found.sources} />}
        </div>
      </Notes.Provider>
    )
  }, [text])
}

const Fragments = ({ nodes }: { readonly nodes: readonly Node[] }) => <>{nodes.map(draw)}</>
const drawAll = (nodes: readonly Node[]): ComponentChildren => nodes.map(draw)

const linkProps = (link: CheckedLink) => ({
  href: link.href,
  target: '_blank',
  rel: 'noreferrer noopener nofollow',
  onClick: (event: Event) => link.isSuspicious && openLink(event, link),
})

type Of<Tag extends Node['tag']> = Extract<Node, { readonly tag: Tag }>
type Drawers = { readonly [Tag in Node['tag']]: (node: Of<Tag>) => ComponentChildren }

const drawers: Drawers = {
  text: ({ text }) => drawText(text),
  code: ({ text }) => <code>{showBidi(text)}</code>,
  pre: ({ text, lang }) => <CodeBlock text={text} lang={lang} />,
  math: ({ text, isBlock }) => <Math text={text} isBlock={isBlock} />,
  link: ({ link, children }) => (
    <a {...linkProps(link)} title={link.href}>
      {drawAll(children)}
    </a>
  ),
  source: ({ text, title, link }) =>
    link ? (
      <a class="src" {...linkProps(link)} title={title ? `${title}\n${link.href}` : link.href}>
        {showBidi(text)}
      </a>
    ) : (
      <span class="src">{showBidi(text)}</span>
    ),
  image: ({ text, host, data }) =>
    data ? <img src={data} alt={text} /> : <span class="chip">{`🖼 ${showBidi(text)}${host && ` (${host})`}`}</span>,
  file: ({ path, text }) => <FileLink path={path} text={text} />,
  heading: ({ depth, level, children }) => (
    <p class={`heading h${depth}`} dir="auto" {...(level && { role: 'heading', 'aria-level': level })}>
      {drawAll(children)}
    </p>
  ),
  list: (list) => <List list={list} />,
  table: (table) => <Table table={table} />,
  br: () => <br />,
  hr: () => <hr />,
  p: ({ children }) => <p dir="auto">{drawAll(children)}</p>,
  quote: ({ children }) => <blockquote dir={directionOf(children)}>{drawAll(children)}</blockquote>,
  em: ({ children }) => <em>{drawAll(children)}</em>,
  strong: ({ children }) => <strong>{drawAll(children)}</strong>,
  del: ({ children }) => <del>{drawAll(children)}</del>,
  span: ({ children }) => <span>{drawAll(children)}</span>,
  element: ({ name: Name, children }) => <Name>{drawAll(children)}</Name>,
  fold: ({ isOpen, summary, children }) => (
    <details class="fold" open={isOpen}>
      <summary dir="auto">{summary.length ? drawAll(summary) : t('details')}</summary>
      <div class="markdown">{drawAll(children)}</div>
    </details>
  ),
  note: ({ label, children }) => <Note label={label}>{drawAll(children)}</Note>,
  noteRef: ({ label }) => <NoteRef label={label} />,
}

/** A browser lays out again what stands in the text node that grows, so a long text is several of them. */
const maxTextNode = 400

function drawText(text: string): ComponentChildren {
  const parts: string[] = []
  let from = 0
  while (text.length - from > maxTextNode) {
    const space = text.lastIndexOf(' ', from + maxTextNode)
    const to = space > from ? space + 1 : text.length
    parts.push(text.slice(from, to))
    from = to
  }
  return parts.length ? [...parts, text.slice(from)].map(showBidi) : showBidi(text)
}

const draw = (node: Node): ComponentChildren => drawers[node.tag](node as never)

function List({ list: { start, isLoose, items } }: { readonly list: Of<'list'> }) {
  const drawn = items.map(({ checked, children }, at) => (
    <li key={at} class={checked === undefined ? undefined : 'task'}>
      {checked === undefined ? null : (
        <span role="img" aria-label={String(checked)}>
          {checked ? '☑ ' : '☐ '}
        </span>
      )}
      {drawAll(children)}
    </li>
  ))
  const props = { class: isLoose ? 'loose' : undefined, dir: directionOf(items.flatMap(({ children }) => children)) }
  return start === undefined ? (
    <ul {...props}>{drawn}</ul>
  ) : (
    <ol {...props} start={start}>
      {drawn}
    </ol>
  )
}

const Cells = ({ row, Name }: { readonly row: Of<'table'>['head']; readonly Name: 'td' | 'th' }) => (
  <tr>
    {row.map(({ children, align }, at) => (
      <Name key={at} class={align ? `align-${align}` : undefined} dir="auto">
        {drawAll(children)}
      </Name>
    ))}
  </tr>
)

const Table = ({ table: { head, rows } }: { readonly table: Of<'table'> }) => (
  <div class="table" tabIndex={0}>
    <table dir={directionOf(head.flatMap(({ children }) => children))}>
      <thead>
        <Cells row={head} Name="th" />
      </thead>
      <tbody>
        {rows.map((row, at) => (
          <Cells key={at} row={row} Name="td" />
        ))}
      </tbody>
    </table>
  </div>
)

/** Of lists, quotes and tables, whose parts have a direction of their own that `auto` does not see. */
function directionOf(nodes: readonly Node[]): 'rtl' | undefined {
  const [letter] = /\p{L}/u.exec(textOf(nodes)) ?? []
  return letter && /[\u0590-\u08FF\uFB1D-\uFDFF\uFE70-\uFEFC]/.test(letter) ? 'rtl' : undefined
}

const textOf = (nodes: readonly Node[]): string =>
  nodes.map((node) => ('children' in node ? textOf(node.children) : node.tag === 'text' ? node.text : '')).join('')

const nameOf = (label: string, notes: readonly string[]): string =>
  /^\d+$/.test(label) ? label : `${notes.indexOf(label) + 1}`

/** A label without a footnote is text, as `[^a-z]` in an expression. */
function NoteRef({ label }: { readonly label: string }) {
  const notes = useContext(Notes)
  if (!notes.includes(label)) return <>{`[^${label}]`}</>
  return (
    <sup class="note-ref">
      <button
        type="button"
        data-ref={label}
        aria-label={t('footnote', { name: nameOf(label, notes) })}
        onClick={showNote}
      >
        {nameOf(label, notes)}
      </button>
    </sup>
  )
}

function Note({ label, children }: { readonly label: string; readonly children: ComponentChildren }) {
  const notes = useContext(Notes)
  return (
    <div class="footnote" role="note" data-note={label} tabIndex={-1} dir="auto">
      <span>{nameOf(label, notes)}.</span>
      <div>{children}</div>
      <button type="button" data-back={label} aria-label={t('back')} title={t('back')} onClick={showReference}>
        ↩
      </button>
    </div>
  )
}

function moveTo(event: Event, from: 'ref' | 'back', to: 'note' | 'ref'): void {
  const button = event.currentTarget as HTMLElement
  // A fold has a text of its own inside of the whole one.
  const all = document.querySelectorAll<HTMLElement>(`[data-${to}]`)
  const whole = button.closest('.block, .panel')
  const isWanted = (one: HTMLElement) => one.dataset[to] === button.dataset[from] && whole?.contains(one) !== false
  const found = [...all].find(isWanted)
  found?.scrollIntoView({ block: 'nearest' })
  found?.focus({ preventScroll: true })
}
const showNote = (event: Event) => moveTo(event, 'ref', 'note')
const showReference = (event: Event) => moveTo(event, 'back', 'ref')

const Sources = ({ sources }: { readonly sources: readonly Source[] }) => (
  <details class="sources">
    <summary>{sources.length === 1 ? t('oneSource') : t('sourceCount', { count: sources.length })}</summary>
    <ol>
      {sources.map(({ link, title }) => (
        <li key={link.href}>
          <a {...linkProps(link)} title={link.href}>
            <span class="clip" dir="auto">
              {showBidi(title || link.href)}
            </span>
            <span class="note">{link.host}</span>
          </a>
        </li>
      ))}
    </ol>
  </details>
)

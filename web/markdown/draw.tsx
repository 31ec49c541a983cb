/** Draws Markdown as elements. Nothing here takes HTML or requests anything. */

import type { ComponentChildren, VNode } from 'preact'
import { useMemo, useRef } from 'preact/hooks'
import { CodeBlock } from './code-block.tsx'
import { FileLink } from './file-view.tsx'
import type { Node } from './lex.ts'
import { showBidi } from './links.ts'
import { reader } from './late.ts'
import { openLink } from './open-link.ts'
import type { Reading } from './stream.ts'

type Reader = NonNullable<typeof reader.value>

/** Until the lexer is loaded, the text stands as it was written. */
export function Markdown({ text }: { readonly text: string }) {
  const read = reader.value
  if (read) return <Growing text={text} read={read} />
  return (
    <p class="pre-line" dir="auto">
      {showBidi(text)}
    </p>
  )
}

/** Closed blocks keep their elements, so that a growing text draws its last block only. */
function Growing({ text, read }: { readonly text: string; readonly read: Reader }) {
  const reading = useRef<Reading>({ done: 0, closed: [], open: [], depths: [] })
  const drawn = useRef<VNode[]>([])
  return useMemo(() => {
    const next = read(reading.current, text)
    if (next.closed.length < drawn.current.length) drawn.current = []
    for (const block of next.closed.slice(drawn.current.length))
      drawn.current = [...drawn.current, <Fragments key={`c${drawn.current.length}`} nodes={block.nodes} />]
    reading.current = next
    return (
      <div class="markdown" dir="auto">
        {drawn.current}
        {next.open.map((block, at) => (
          <Fragments key={`c${drawn.current.length + at}`} nodes={block.nodes} />
        ))}
      </div>
    )
  }, [text])
}

const Fragments = ({ nodes }: { readonly nodes: readonly Node[] }) => <>{nodes.map(draw)}</>
const drawAll = (nodes: readonly Node[]): ComponentChildren => nodes.map(draw)

type Drawers = { readonly [Tag in Node['tag']]: (node: Extract<Node, { readonly tag: Tag }>) => ComponentChildren }

const drawers: Drawers = {
  text: ({ text }) => showBidi(text),
  code: ({ text }) => <code>{showBidi(text)}</code>,
  pre: ({ text, lang }) => <CodeBlock text={text} lang={lang} />,
  link: ({ link, children }) => (
    <a
      href={link.href}
      target="_blank"
      rel="noreferrer noopener nofollow"
      title={link.href}
      onClick={(event) => link.isSuspicious && openLink(event, link)}
    >
      {drawAll(children)}
    </a>
  ),
  image: ({ text, host, data }) =>
    data ? <img src={data} alt={text} /> : <span class="chip">{`🖼 ${showBidi(text)}${host && ` (${host})`}`}</span>,
  file: ({ path, text }) => <FileLink path={path} text={text} />,
  heading: ({ depth, level, children }) => (
    <p class={`heading h${depth}`} {...(level && { role: 'heading', 'aria-level': level })}>
      {drawAll(children)}
    </p>
  ),
  list: ({ start, items }) => {
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
    return start === undefined ? <ul>{drawn}</ul> : <ol start={start}>{drawn}</ol>
  },
  table: ({ head, rows }) => (
    <div class="table" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {head.map(({ children, align }, at) => (
              <th key={at} class={align ? `align-${align}` : undefined}>
                {drawAll(children)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={at}>
              {row.map(({ children, align }, column) => (
                <td key={column} class={align ? `align-${align}` : undefined}>
                  {drawAll(children)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  ),
  br: () => <br />,
  hr: () => <hr />,
  p: ({ children }) => <p>{drawAll(children)}</p>,
  quote: ({ children }) => <blockquote>{drawAll(children)}</blockquote>,
  em: ({ children }) => <em>{drawAll(children)}</em>,
  strong: ({ children }) => <strong>{drawAll(children)}</strong>,
  del: ({ children }) => <del>{drawAll(children)}</del>,
  span: ({ children }) => <span>{drawAll(children)}</span>,
}

const draw = (node: Node): ComponentChildren => drawers[node.tag](node as never)

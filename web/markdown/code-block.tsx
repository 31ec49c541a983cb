/** Draws a block of code: its language, colours once it does not grow any more, and what can be done with it. */

import { useEffect, useState } from 'preact/hooks'
import { readDiff } from '../model/diff.ts'
import { IconButton } from '../parts/button.tsx'
import { download } from '../parts/download.ts'
import { t } from '../words/words.ts'
import { Diagram, useDiagram } from './diagram.tsx'
import type { CodeToken } from './highlight.ts'
import { extensionFor, findLanguage } from './languages.ts'
import { showBidi } from './links.ts'

/** A streamed block has a new piece sooner than this. */
const restMs = 120
/** More would be thousands of elements. */
const maxChars = 20_000
const saidMs = 2_000

type Props = { readonly text: string; readonly lang: string }

export function CodeBlock({ text, lang }: Props) {
  const [isWrapped, setWrapped] = useState(false)
  const [isSource, setSource] = useState(false)
  const isMermaid = lang.toLowerCase() === 'mermaid'
  const isResting = useResting(text)
  const diagram = useDiagram(text, isMermaid && isResting)
  const isDiagram = diagram !== undefined && !isSource
  return (
    <div class={isWrapped ? 'code wrapped' : 'code'}>
      <div class="code-bar">
        <span class="clip grow">{lang || t('text')}</span>
        {diagram !== undefined && (
          <IconButton icon="source" label={t('source')} pressed={isSource} onClick={() => setSource(!isSource)} />
        )}
        {!isDiagram && (
          <IconButton icon="wrap" label={t('wrapLines')} pressed={isWrapped} onClick={() => setWrapped(!isWrapped)} />
        )}
        <IconButton
          icon="save"
          label={t('download')}
          onClick={() => download(`code.${extensionFor(lang)}`, new Blob([text]))}
        />
        <CopyButton text={text} />
      </div>
      {isDiagram ? (
        <Diagram url={diagram} text={text} />
      ) : (
        <pre tabIndex={0} dir="ltr" data-lang={lang}>
          <code>
            <Code text={text} lang={lang} />
          </code>
        </pre>
      )}
    </div>
  )
}

const isDiff = (lang: string): boolean => /^(?:diff|patch|udiff)$/i.test(lang)

export const hasColours = (text: string, lang: string): boolean =>
  text.length <= maxChars && (isDiff(lang) || findLanguage(lang) !== undefined)

function Code({ text, lang }: Props) {
  const tokens = useTokens(text, lang)
  if (isDiff(lang) && text.length <= maxChars)
    return (
      <span class="diff">
        {readDiff(text).map(({ kind, text: line }, at) => (
          <span key={at} class={kind === 'file' ? 'diff-file' : kind}>{`${showBidi(line)}\n`}</span>
        ))}
      </span>
    )
  if (!tokens) return <>{showBidi(text)}</>
  return (
    <>
      {tokens.map((token) =>
        token.kind ? <span class={`code-${token.kind}`}>{showBidi(token.text)}</span> : showBidi(token.text),
      )}
    </>
  )
}

/** True once the text has stayed for a moment. */
function useResting(text: string): boolean {
  const [rested, setRested] = useState<string>()
  useEffect(() => {
    const timer = setTimeout(setRested, restMs, text)
    return () => clearTimeout(timer)
  }, [text])
  return rested === text
}

function useTokens(text: string, lang: string): readonly CodeToken[] | undefined {
  const [found, setFound] = useState<{ readonly text: string; readonly tokens: readonly CodeToken[] }>()
  const isResting = useResting(text)
  useEffect(() => {
    const language = findLanguage(lang)
    if (!language || !isResting || text.length > maxChars) return undefined
    let isWanted = true
    const colour = async () => {
      // Without a network the code stays in one colour.
      const loaded = await import('./highlight.ts').catch(() => undefined)
      if (loaded && isWanted) setFound({ text, tokens: loaded.highlight(text, language) })
    }
    void colour()
    return () => void (isWanted = false)
  }, [text, lang, isResting])
  return found?.text === text ? found.tokens : undefined
}

function CopyButton({ text }: Pick<Props, 'text'>) {
  const [isCopied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(text)
    setCopied(true)
    setTimeout(setCopied, saidMs, false)
  }
  return <IconButton icon={isCopied ? 'done' : 'copy'} label={t(isCopied ? 'copied' : 'copy')} onClick={copy} />
}

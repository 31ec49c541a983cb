/** Draws a block of code, with colours once it does not grow any more, and a button that copies it. */

import { useEffect, useState } from 'preact/hooks'
import { t } from '../words/words.ts'
import type { CodeToken } from './highlight.ts'
import { findLanguage } from './languages.ts'
import { showBidi } from './links.ts'

/** A streamed block has a new piece sooner than this. */
const restMs = 120
/** More would be thousands of elements. */
const maxChars = 20_000

type Props = { readonly text: string; readonly lang: string }

export function CodeBlock({ text, lang }: Props) {
  const tokens = useTokens(text, lang)
  return (
    <div class="code">
      <pre tabIndex={0} data-lang={lang}>
        <code>
          {tokens
            ? tokens.map((token) =>
                token.kind ? <span class={`code-${token.kind}`}>{showBidi(token.text)}</span> : showBidi(token.text),
              )
            : showBidi(text)}
        </code>
      </pre>
      <CopyButton text={text} />
    </div>
  )
}

function useTokens(text: string, lang: string): readonly CodeToken[] | undefined {
  const [found, setFound] = useState<{ readonly text: string; readonly tokens: readonly CodeToken[] }>()
  useEffect(() => {
    const language = findLanguage(lang)
    if (!language || text.length > maxChars) return undefined
    let isWanted = true
    const timer = setTimeout(async () => {
      // Without a network the code stays in one colour.
      const loaded = await import('./highlight.ts').catch(() => undefined)
      if (loaded && isWanted) setFound({ text, tokens: loaded.highlight(text, language) })
    }, restMs)
    return () => {
      isWanted = false
      clearTimeout(timer)
    }
  }, [text, lang])
  return found?.text === text ? found.tokens : undefined
}

const saidMs = 2_000

function CopyButton({ text }: Pick<Props, 'text'>) {
  const [isCopied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(text)
    setCopied(true)
    setTimeout(setCopied, saidMs, false)
  }
  return (
    <button type="button" class="button copy" onClick={() => void copy()}>
      {isCopied ? t('copied') : t('copy')}
    </button>
  )
}

/** Tests what is taken from a page whose scripts may run. */

import { describe, expect, it } from 'vitest'
import { renderScriptPreview } from '#worker/files/script-preview.ts'

const render = (html: string): string => new TextDecoder().decode(renderScriptPreview(new TextEncoder().encode(html)))
const withoutPrologue = (html: string): string => render(html).replace(/<script>\{[\s\S]*?\}<\/script>/, '§')

describe('a page whose scripts may run', () => {
  it.each([
    ['<!DOCTYPE html><p>one', '<!DOCTYPE html>§<p>one'],
    ['<p>one', '§<p>one'],
    ['<p>ü 😀', '§<p>ü 😀'],
    ['<iframe src=x></iframe>', '§&lt;iframe src=x>&lt;/iframe>'],
    ['<IFRAME\nsrcdoc="<b>">', '§&lt;IFRAME\nsrcdoc="<b>">'],
    ['<iframe/srcdoc=x>', '§&lt;iframe/srcdoc=x>'],
    ['<object data=x><embed src=x>', '§&lt;object data=x>&lt;embed src=x>'],
    ['<frame-list><iframes>', '§<frame-list><iframes>'],
    ['<p>a<b', '§<p>a<b'],
  ])('%j has no frames', (html, rendered) => expect(withoutPrologue(html)).toBe(rendered))
})

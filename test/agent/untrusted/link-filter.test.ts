/** Tests that addresses which nobody has written before do not get into an answer, or only as code, wherever its pieces are split. */

import { array, assert, constantFrom, nat, property } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { openLinkFilter } from '#agent/untrusted/link-filter.ts'

const known = 'https://known.example/a?b=1'
const isKnown = (url: URL): boolean => url.href === known || url.hostname === 'wiki.example'
const hasShown = (url: URL): boolean => url.hostname === 'mail.example'
const show = (text: string): string => {
  const filter = openLinkFilter(isKnown, hasShown)
  return filter.push(text) + filter.flush()
}

describe('an address', () => {
  it.each([
    ['an image', '![x](https://evil.example/?d=1)', '![x]([link withheld: evil.example])'],
    ['a link', '[x](https://evil.example/?d=1 "t")', '[x]([link withheld: evil.example] "t")'],
    ['a plain address', 'See https://evil.example/1.', 'See [link withheld: evil.example].'],
    ['an address in signs', '<https://evil.example/1>', '<[link withheld: evil.example]>'],
    ['an image of HTML', '<img src="//evil.example/1">', '<img src="[link withheld: evil.example]">'],
    ['an address without a scheme', 'www.evil.example/1', '[link withheld: www.evil.example]'],
    ['capital letters', 'HTTPS://EVIL.example/1', '[link withheld: evil.example]'],
    ['an address of mail', 'mailto:a@evil.example?body=1', '[link withheld: mailto]'],
    ['the definition of a link', '[x]: https://evil.example/1', '[x]: [link withheld: evil.example]'],
    ['code within a line', '`https://evil.example/1`', '`[link withheld: evil.example]`'],
    ['a block that is not one', '    ```\nhttps://evil.example/1', '    ```\n[link withheld: evil.example]'],
    ['after a block', '```\nx\n```\nhttps://evil.example/1', '```\nx\n```\n[link withheld: evil.example]'],
    ['behind a longer known one', `${known}x`, '[link withheld: known.example]'],
  ])('is withheld: %s', (_name, text, expected) => {
    expect(show(text)).toBe(expected)
  })

  it.each([
    ['a known one', `[x](${known}), and ${known}.`],
    ['a known one with brackets', 'https://wiki.example/A_(b) and (https://wiki.example/c)'],
    ['one of this machine', 'http://localhost:3000/x and http://127.0.0.1/y'],
    ['one in a block of code', '```sh\ncurl https://api.example/v1\n```\ndone'],
    ['a comment and a path', 'a // b, src//x, file:///etc/x, and/or'],
    ['no address', 'htt w ww ma / plain text'],
  ])('stays: %s', (_name, text) => {
    expect(show(text)).toBe(text)
  })

  const shown = 'https://mail.example/1'
  it.each([
    ['a plain address', `See ${shown}.`, `See \`${shown}\`.`],
    ['two of them', `${shown}, ${shown}`, `\`${shown}\`, \`${shown}\``],
    ['a link', `[x](${shown})`, `[x](address: \`${shown}\`)`],
    ['an image', `![x](${shown} "t")`, `![x](address: \`${shown}\` "t")`],
    ['an image of HTML', `<img src="${shown}">`, `<img src="address: \`${shown}\`">`],
    ['an address in signs', `<${shown}>`, `<address: \`${shown}\`>`],
    ['code within a line', `Open \`${shown}\`.`, `Open \`${shown}\`.`],
    ['after code', `\`a\` and ${shown}`, `\`a\` and \`${shown}\``],
    ['after a paragraph with a tick', `a \` b\n\n${shown}`, `a \` b\n\n\`${shown}\``],
  ])('of a result is code: %s', (_name, text, expected) => {
    expect(show(text)).toBe(expected)
  })

  // The ticks around it would open or close other code, and the address would be a link.
  it.each([`\` ${shown}`, `- a \` b\n- ${shown}`, `\\\`${shown} \``, `\`\` ${shown}`, `${shown}\``, `\`a\`${shown}`])(
    'of a result is withheld where it would not become code: %s',
    (text) => {
      expect(show(text)).toContain('[link withheld: mail.example]')
    },
  )

  it('is withheld wherever the pieces of the text end', () => {
    const pieces = array(
      constantFrom(
        'a',
        ' ',
        '\n',
        'https://evil.example/1',
        known,
        'https://mail.example/1',
        '`',
        '\\',
        '```',
        '(',
        ')',
        'www.evil.example',
        '//',
        'h',
        't',
      ),
    )
    assert(
      property(pieces, array(nat(20)), (words, cuts) => {
        const text = words.join('')
        const filter = openLinkFilter(isKnown, hasShown)
        let [shown, at] = ['', 0]
        for (const cut of cuts) {
          shown += filter.push(text.slice(at, at + cut))
          at += cut
        }
        expect(shown + filter.push(text.slice(at)) + filter.flush()).toBe(show(text))
      }),
    )
  })
})

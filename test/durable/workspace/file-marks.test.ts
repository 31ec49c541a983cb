/** Tests the marks of the files of a session. */

import { describe, expect, it } from 'vitest'
import type { FileMarksRecord } from '#agent/core/marks.ts'
import { openFileMarks } from '#durable/workspace/file-marks.ts'

function open(fileMarks?: FileMarksRecord) {
  let meta: { readonly fileMarks?: FileMarksRecord } = fileMarks ? { fileMarks } : {}
  return openFileMarks({ meta: () => meta, updateMeta: (change) => (meta = change) })
}

const [foreign, own, both] = [{ isForeign: true }, { isPrivate: true }, { isForeign: true, isPrivate: true }] as const

describe('a file', () => {
  it('is private, and foreign in a session that is older than marks', () => {
    expect(open({}).of('/workspace/a')).toEqual(own)
    expect(open().of('/workspace/a')).toEqual(both)
  })

  it('has the marks that it was written with, in both forms of its name', () => {
    const files = open({})
    files.set('/workspace/caf\u00e9', foreign)
    expect(files.of('/workspace/cafe\u0301')).toEqual(foreign)
    expect([files.below('/workspace'), files.all()]).toEqual([both, both])
    files.set('/workspace/caf\u00e9', own)
    expect([files.of('/workspace/caf\u00e9'), files.all()]).toEqual([own, own])
  })

  it('does not lose its marks when one is written whose name differs only in its Unicode form', () => {
    const files = open({})
    files.set('/workspace/cafe\u0301', foreign)
    files.set('/workspace/caf\u00e9', own)
    expect([files.of('/workspace/cafe\u0301'), files.below('/workspace')]).toEqual([foreign, both])
    files.copy('/workspace/cafe\u0301', '/workspace/kept')
    expect(files.of('/workspace/kept')).toEqual(foreign)
    files.set('/workspace/cafe\u0301', own)
    expect(files.of('/workspace/cafe\u0301')).toEqual(own)
  })

  it('may be foreign after a command, until a clean turn writes it', () => {
    const files = open({})
    files.set('/workspace/report', foreign)
    files.setAllForeign()
    expect([files.of('/workspace/report'), files.of('/workspace/other')]).toEqual([both, both])
    files.set('/workspace/other', own)
    expect(files.of('/workspace/other')).toEqual(own)
    files.setAllForeign()
    expect(files.of('/workspace/other')).toEqual(both)
  })

  it('is private once a command or a person may have written into it; the text of a page is not', () => {
    const files = open({})
    files.set('/workspace/report', foreign)
    files.set('/workspace/second', foreign)
    files.set('/tmp/results/web-1.md', foreign)
    files.setPrivate('/workspace/second')
    expect([files.of('/workspace/report'), files.of('/workspace/second')]).toEqual([foreign, both])
    files.setPrivate()
    expect([files.of('/workspace/report'), files.of('/tmp/results/web-1.md')]).toEqual([both, foreign])
  })

  it('is dictated when a turn with foreign marks may have written it, and not when it was fetched', () => {
    const seen = ({ hasForeign, hasDictated }: ReturnType<typeof open>) => [hasForeign(), hasDictated()]
    const files = open({})
    files.set('/tmp/results/web-1.md', foreign)
    expect(seen(files)).toEqual([false, false])
    files.setAllForeign()
    expect(seen(files)).toEqual([true, false])
    files.setAllForeign(true)
    expect(seen(files)).toEqual([true, true])
    const written = open({})
    written.set('/workspace/Makefile', both)
    expect(seen(written)).toEqual([true, true])
    expect(seen(open())).toEqual([true, true])
  })

  it('keeps its marks under another name', () => {
    const files = open({})
    files.set('/workspace/a/report', both)
    files.copy('/workspace/a', '/workspace/b')
    expect(files.of('/workspace/b/report')).toEqual(both)
  })

  it('counts as foreign when there are too many to remember', () => {
    const files = open({})
    for (let at = 0; at <= 200; at++) files.set(`/workspace/${at}`, foreign)
    expect([files.of('/workspace/0'), files.of('/workspace/new')]).toEqual([both, both])
  })
})

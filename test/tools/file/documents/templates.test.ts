/** Tests the templates of documents: order of their parts, sums of invoices, and text that stays text. */

import { describe, expect, it } from 'vitest'
import { parseMarkdown } from '#backends/make-document/inside/markdown.ts'
import { renderTemplate, type TemplateName } from '#tools/file/documents/templates.ts'

const write = (name: TemplateName, fields: unknown): string => {
  const made = renderTemplate(name, JSON.stringify(fields))
  return 'text' in made ? made.text : made.refused
}

type Runs = readonly { readonly text: string }[]
const joined = (runs: Runs) => runs.map(({ text }) => text).join('')
const read = (markdown: string) =>
  parseMarkdown(markdown).map((block) =>
    block.kind === 'table'
      ? block.rows.map((cells) => cells.map(joined).join(' ').trim())
      : 'runs' in block
        ? joined(block.runs)
        : block.kind,
  )

const invoice = { from: 'A GmbH\nWeg 1', to: ['B', 'Road 2'], number: '2026-7', date: '2026-11-28', currency: 'EUR' }

describe('a template', () => {
  it('of an invoice sums up its items by their taxes, rounded as on paper', () => {
    const items = [
      { description: 'Hours', quantity: 3, price: 19.99, tax_percent: 19 },
      { description: 'Book', price: 1.005, tax_percent: 7 },
      { description: 'Stamp', quantity: 2, price: 0.8 },
    ]
    expect(read(write('invoice', { ...invoice, items, due: 'in 14 days' }))).toEqual([
      'A GmbH',
      'Weg 1',
      'rule',
      'B',
      'Road 2',
      'Invoice 2026-7',
      'Date: 2026-11-28',
      'Due: in 14 days',
      [
        'Description Quantity Price Tax % Amount',
        'Hours 3 19.99 19 59.97',
        'Book 1 1.005 7 1.01',
        'Stamp 2 0.8 0 1.60',
        'Net    62.58',
        'Tax 19 %    11.39',
        'Tax 7 %    0.07',
        'Total EUR    74.04',
      ],
    ])
  })

  it('of a letter has sender, receiver, date, subject, text and signature in this order', () => {
    const fields = { from: 'A', to: 'B', place: 'Bonn', date: '1 May', subject: 'Offer', greeting: 'Dear B,' }
    const end = { body: 'First **bold**.\n\nSecond.', closing: 'Yours', signature: 'A', enclosures: ['Plan'] }
    expect(read(write('letter', { ...fields, ...end }))).toEqual([
      'A',
      'rule',
      'B',
      'Bonn, 1 May',
      'Offer',
      'Dear B,',
      'First bold.',
      'Second.',
      'Yours',
      'A',
      'Enclosures',
      'Plan',
    ])
  })

  it('of minutes has topics, decisions and actions', () => {
    const items = [{ topic: 'Budget', notes: 'Long talk.', decision: 'Yes' }, { topic: 'Any other business' }]
    const actions = [{ task: 'Write | send', who: 'Bo' }]
    expect(read(write('minutes', { title: 'Board', date: '1 May', present: ['Al', 'Bo'], items, actions }))).toEqual([
      'Board',
      'Date: 1 May',
      'Present: Al, Bo',
      '1. Budget',
      'Long talk.',
      'Decision: Yes',
      '2. Any other business',
      'Actions',
      ['Task Who Due', 'Write | send Bo'],
    ])
  })

  it('of a report has a summary before its sections and sources after them', () => {
    const sections = [{ heading: 'Why', text: 'Because.' }]
    expect(
      read(write('report', { title: 'R', author: 'Al', summary: 'Short.', sections, sources: ['x.org'] })),
    ).toEqual(['R', 'Author: Al', 'Summary', 'Short.', 'Why', 'Because.', 'Sources', 'x.org'])
  })

  it('keeps the text of a field as text', () => {
    const items = [{ description: '# a | **b** [c](https://evil.example/)\n| d', price: 1 }]
    expect(read(write('invoice', { ...invoice, number: '**1**\n# 2', items }))).toEqual(
      expect.arrayContaining([
        'Invoice **1** # 2',
        expect.arrayContaining(['# a | **b** [c](https://evil.example/) | d 1 1 0 1.00']),
      ]),
    )
  })

  it.each([
    ['{', 'no JSON'],
    ['[]', 'expected object'],
    ['{"title":"R"}', 'sections'],
    ['{"title":"R","sections":[{"heading":"a","text":"b"}],"totals":1}', 'totals'],
  ])('refuses %s and names its fields', (content, reason) => {
    const made = renderTemplate('report', content)
    expect('refused' in made && made.refused).toContain(reason)
    expect('refused' in made && made.refused).toContain('title, author, date, summary, sections, sources')
  })
})

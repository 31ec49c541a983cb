/** Writes the Markdown of a letter, minutes, an invoice or a report from its fields, so that their parts are in order and sums are right. */

import * as z from 'zod'
import { parseJson } from '#agent/core/parse-json.ts'

export type TemplateName = 'letter' | 'minutes' | 'invoice' | 'report'

const line = z.string().max(2_000)
const text = z.string().max(200_000)
const lines = z.array(line).max(500)
const amount = z.number().min(-1e9).max(1e9)
/** An address in lines. */
const party = z.union([line, lines])

const letter = z.strictObject({
  from: party,
  to: party,
  place: line.optional(),
  date: line,
  subject: line,
  greeting: line.optional(),
  body: text,
  closing: line.optional(),
  signature: line.optional(),
  enclosures: lines.optional(),
})
const minutes = z.strictObject({
  title: line,
  date: line,
  place: line.optional(),
  present: lines,
  absent: lines.optional(),
  items: z.array(z.strictObject({ topic: line, notes: text.optional(), decision: line.optional() })).max(200),
  actions: z
    .array(z.strictObject({ task: line, who: line.optional(), due: line.optional() }))
    .max(200)
    .optional(),
})
const invoice = z.strictObject({
  from: party,
  to: party,
  number: line,
  date: line,
  due: line.optional(),
  currency: line,
  items: z
    .array(
      z.strictObject({
        description: line,
        quantity: amount.default(1),
        price: amount,
        tax_percent: z.number().min(0).max(100).optional(),
      }),
    )
    .min(1)
    .max(500),
  payment: text.optional(),
  note: text.optional(),
})
const report = z.strictObject({
  title: line,
  author: line.optional(),
  date: line.optional(),
  summary: text.optional(),
  sections: z
    .array(z.strictObject({ heading: line, text }))
    .min(1)
    .max(200),
  sources: lines.optional(),
})

/** Text of a field stays text: only bodies may have Markdown. */
const plain = (value: string): string => value.replace(/\s+/g, ' ').replace(/[\\`*_{}[\]()#+.!|>-]/g, '\\$&')
const field = (name: string, value: string | undefined): string[] =>
  value === undefined ? [] : [`**${name}:** ${plain(value)}`]
const block = (value: string | undefined): string[] => (value === undefined ? [] : [value])
const address = (value: string | readonly string[]): string[] =>
  (typeof value === 'string' ? value.split('\n') : value).map(plain)
const list = (heading: string, values: readonly string[] | undefined): string[] =>
  values?.length ? [`## ${heading}`, values.map((value) => `- ${plain(value)}`).join('\n')] : []
const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [row(head), row(head.map(() => '---')), ...rows.map(row)].join('\n')

const writeLetter = (given: z.infer<typeof letter>): string[] => [
  ...address(given.from),
  '---',
  ...address(given.to),
  plain([given.place, given.date].filter(Boolean).join(', ')),
  `# ${plain(given.subject)}`,
  ...(given.greeting === undefined ? [] : [plain(given.greeting)]),
  given.body,
  ...[given.closing, given.signature].flatMap((value) => (value === undefined ? [] : [plain(value)])),
  ...list('Enclosures', given.enclosures),
]

const writeMinutes = (given: z.infer<typeof minutes>): string[] => [
  `# ${plain(given.title)}`,
  ...field('Date', given.date),
  ...field('Place', given.place),
  ...field('Present', given.present.join(', ')),
  ...field('Absent', given.absent?.join(', ')),
  ...given.items.flatMap(({ topic, notes, decision }, at) => [
    `## ${at + 1}\\. ${plain(topic)}`,
    ...block(notes),
    ...field('Decision', decision),
  ]),
  ...(given.actions?.length
    ? [
        '## Actions',
        table(
          ['Task', 'Who', 'Due'],
          given.actions.map(({ task, who = '', due = '' }) => [task, who, due].map(plain)),
        ),
      ]
    : []),
]

/** Halves are rounded away from zero, as on paper. `toPrecision` takes away what binary fractions add. */
const toCents = (value: number): number =>
  Math.sign(value) * Math.round(Number((Math.abs(value) * 100).toPrecision(15)))
const money = (cents: number): string => plain((cents / 100).toFixed(2))

function writeInvoice(given: z.infer<typeof invoice>): string[] {
  const items = given.items.map((item) => ({ ...item, cents: toCents(item.quantity * item.price) }))
  const byRate = new Map<number, number>()
  for (const { tax_percent: rate = 0, cents } of items) byRate.set(rate, (byRate.get(rate) ?? 0) + cents)
  const net = items.reduce((sum, { cents }) => sum + cents, 0)
  const taxes = [...byRate].flatMap(([rate, cents]) =>
    rate === 0 ? [] : [{ rate, cents: toCents((cents * rate) / 10_000) }],
  )
  const total = taxes.reduce((sum, { cents }) => sum + cents, net)
  const sums = [
    ...(taxes.length ? [['Net', '', '', '', money(net)]] : []),
    ...taxes.map(({ rate, cents }) => [`Tax ${plain(String(rate))} %`, '', '', '', money(cents)]),
    [`Total ${plain(given.currency)}`, '', '', '', money(total)],
  ]
  return [
    ...address(given.from),
    '---',
    ...address(given.to),
    `# Invoice ${plain(given.number)}`,
    ...field('Date', given.date),
    ...field('Due', given.due),
    table(
      ['Description', 'Quantity', 'Price', 'Tax %', 'Amount'],
      [
        ...items.map(({ description, quantity, price, tax_percent: rate = 0, cents }) => [
          plain(description),
          plain(String(quantity)),
          plain(String(price)),
          plain(String(rate)),
          money(cents),
        ]),
        ...sums,
      ],
    ),
    ...block(given.payment),
    ...block(given.note),
  ]
}

const writeReport = (given: z.infer<typeof report>): string[] => [
  `# ${plain(given.title)}`,
  ...field('Author', given.author),
  ...field('Date', given.date),
  ...(given.summary === undefined ? [] : ['## Summary', given.summary]),
  ...given.sections.flatMap(({ heading, text: body }) => [`## ${plain(heading)}`, body]),
  ...list('Sources', given.sources),
]

const template = <Shape extends z.ZodType>(shape: Shape, write: (fields: z.infer<Shape>) => string[]) => ({
  shape,
  render: (given: unknown) => {
    const { success, data, error } = shape.safeParse(given)
    return success ? { text: `${write(data).join('\n\n')}\n` } : { refused: z.prettifyError(error).slice(0, 1_000) }
  },
})

const templates = {
  letter: template(letter, writeLetter),
  minutes: template(minutes, writeMinutes),
  invoice: template(invoice, writeInvoice),
  report: template(report, writeReport),
} as const satisfies Readonly<Record<TemplateName, unknown>>

/** `content`: the fields as JSON. A refusal names the fields, so that the next attempt can be right. */
export function renderTemplate(
  name: TemplateName,
  content: string,
): { readonly text: string } | { readonly refused: string } {
  const { shape, render } = templates[name]
  const fields = Object.keys(shape.shape).join(', ')
  const given = parseJson(content)
  const made = given === undefined ? { refused: 'It is no JSON.' } : render(given)
  if ('text' in made) return made
  return { refused: `The content of a ${name} is a JSON object with its fields (${fields}). ${made.refused}` }
}

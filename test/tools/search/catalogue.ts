/**
 * Builds a catalogue of 3,300 tools: realistic ones with a question for each (catalogue-lines.ts), and generated ones of business
 * systems that have the same verbs and often the same objects.
 */

import { defineSchemaTool } from '../../../src/tools/define-tool.ts'
import { nameTools } from '../../../src/agent/mcp/tool-names.ts'
import type { Tool } from '../../../src/agent/core/tool.ts'
import { catalogueLines, laterQuestions } from './catalogue-lines.ts'

export const catalogueSize = 3_300

type Listed = {
  readonly source: string
  readonly tool: string
  readonly description: string
  readonly inputSchema: object
}
export type Question = { readonly question: string; readonly name: string }

const properties = (names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, { type: 'string', description: `The ${name.replaceAll('_', ' ')}.` }]))

const schemaOf = (names: readonly string[]) => ({
  type: 'object',
  properties: properties(names),
  required: names.slice(0, 1),
})

type Line = Listed & { readonly question: string }

function readLines(): readonly Line[] {
  let source = ''
  return catalogueLines
    .trim()
    .split('\n')
    .flatMap((line) => {
      if (line.startsWith('# ')) source = line.slice(2)
      if (!line.includes(' | ')) return []
      const [tool = '', description = '', parameters = '', question = ''] = line.split(' | ').map((one) => one.trim())
      return [
        {
          source,
          tool,
          description,
          inputSchema: schemaOf(parameters.split(', ').filter((one) => one !== '-')),
          question,
        },
      ]
    })
}

const systems = [
  'netsuite',
  'dynamics',
  'odoo',
  'sap-erp',
  'workday',
  'servicenow',
  'epic-clinic',
  'canvas-lms',
  'fleetio',
  'shipstation',
  'moodle',
  'labware',
  'agrivi',
  'procore',
  'guesty',
  'lightspeed',
  'veeva',
  'guidewire',
  'opentext',
  'maximo',
] as const

const objects: readonly (readonly [string, string])[] = [
  ['vendor_contract', 'supplier, start, end, value'],
  ['goods_receipt', 'order, quantity, bin'],
  ['cost_center', 'code, owner, budget'],
  ['journal_entry', 'date, debit, credit'],
  ['fixed_asset', 'serial, location, value'],
  ['purchase_requisition', 'item, quantity, approver'],
  ['work_order', 'asset, priority, technician'],
  ['change_request', 'service, risk, window'],
  ['patient_encounter', 'patient, clinician, date'],
  ['lab_sample', 'barcode, test, result'],
  ['course_module', 'course, title, position'],
  ['enrollment', 'student, course, term'],
  ['vehicle_inspection', 'vehicle, mileage, defects'],
  ['fuel_card', 'card, vehicle, limit'],
  ['crop_field', 'field, crop, area'],
  ['harvest_plan', 'field, week, yield'],
  ['site_permit', 'site, authority, expiry'],
  ['rental_listing', 'listing, rate, nights'],
  ['guest_stay', 'guest, arrival, departure'],
  ['till_shift', 'till, cashier, float'],
  ['batch_recipe', 'recipe, step, amount'],
  ['clinical_trial_site', 'trial, site, investigator'],
  ['insurance_policy', 'holder, cover, premium'],
  ['claim_reserve', 'claim, amount, adjuster'],
  ['retention_rule', 'folder, years, action'],
] as const

const verbs: readonly (readonly [string, string, string])[] = [
  ['create', 'Create a', 'status, notes'],
  ['get', 'Get one', 'fields'],
  ['list', 'List every', 'status, owner, limit'],
  ['update', 'Update a', 'fields, reason'],
  ['delete', 'Delete a', 'reason'],
  ['approve', 'Approve a', 'comment'],
  ['export', 'Export to CSV each', 'format, since'],
] as const

function* generate(): Generator<Listed> {
  for (const source of systems)
    for (const [object, fields] of objects)
      for (const [verb, words, more] of verbs)
        yield {
          source,
          tool: `${verb}_${object}`,
          description: `${words} ${object.replaceAll('_', ' ')} in ${source}. Returns the record with its history and links.`,
          inputSchema: schemaOf([`${object}_id`, ...fields.split(', '), ...more.split(', ')]),
        }
}

/** The tools as sessions get them, and the questions with the names that answer them. */
export function buildCatalogue(): {
  readonly tools: readonly Tool[]
  readonly questions: readonly Question[]
  /** The word groups of the search were never changed for these. */
  readonly laterQuestions: readonly Question[]
} {
  const lines = readLines()
  const listed: readonly Listed[] = [...lines, ...[...generate()].slice(0, catalogueSize - lines.length)]
  const names = new Map(
    [...Map.groupBy(listed, ({ source }) => source)].map(([source, tools]) => [
      source,
      nameTools(
        source,
        tools.map(({ tool }) => tool),
      ),
    ]),
  )
  const nameOf = ({ source, tool }: Listed) => names.get(source)?.get(tool) ?? ''
  return {
    tools: listed.map((one) =>
      defineSchemaTool({
        name: nameOf(one),
        toolset: `mcp-${one.source}`,
        description: one.description,
        input: { schema: one.inputSchema, parse: (value) => ({ ok: true, value }) },
        effect: 'pure',
        run: async () => ({ result: nameOf(one) }),
      }),
    ),
    questions: lines.map((line) => ({ question: line.question, name: nameOf(line) })),
    laterQuestions: laterQuestions
      .trim()
      .split('\n')
      .map((line) => {
        const [source = '', tool = '', question = ''] = line.split(' | ')
        return { question, name: names.get(source)?.get(tool) ?? '' }
      }),
  }
}

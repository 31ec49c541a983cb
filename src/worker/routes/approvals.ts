/** `/api/approvals`: lists tool calls that wait for approval, and decides them. */

import * as z from 'zod'
import { isRiskAbove, listApprovalChoices, risks } from '#agent/core/permission/approval.ts'
import { type Authority, hasScope } from '#agent/core/permission/authority.ts'
import { maskSecrets, maskSecretsInValue } from '#agent/core/secrets/mask-secrets.ts'
import { type Approval, isApproval } from '#durable/turn/pending-requests.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import { AppError, invalid, notFound } from '../errors.ts'
import { pageByKey } from '../input/page.ts'
import { type RouteCall, route } from '../route.ts'
import { addressSession, splitRequestId } from '../sessions.ts'
import { decisionFields, listOf, ok, pageQuery } from '../shapes.ts'
import { policyError } from '../input/settings-patch.ts'
import { nameSchemas } from '../schema-names.ts'
import { approvalParam, runParam, sessionParam } from '../openapi/path-params.ts'

const approvalShape = z.object({
  id: z.string(),
  session_id: z.string(),
  run_id: z.string(),
  call_id: z.string(),
  tool: z.string(),
  input: z.unknown().describe('Exactly what runs, for the scope approve. Secrets are masked for others.'),
  risk: z.enum(risks),
  reasons: z.array(z.string()),
  ...decisionFields,
  created_at: z.iso.datetime(),
})
nameSchemas(
  { Approval: approvalShape },
  {
    Approval: {
      id: approvalParam.example,
      session_id: sessionParam.example,
      run_id: runParam.example,
      call_id: 'call_1',
      tool: 'terminal',
      input: { command: 'rm -r build' },
      risk: 'exec',
    },
  },
)

const answerShape = z.object({ id: z.string(), status: z.literal('decided'), decision: z.string() })

export const decisionSchema = z.strictObject({
  decision: z.enum(['once', 'session', 'always', 'deny']),
  reason: z.string().max(280).optional().describe('Shown to the agent with a denial.'),
})

export const approvalRoutes = [
  route({
    method: 'get',
    path: '/api/approvals',
    id: 'listApprovals',
    scope: 'read',
    tag: 'Approvals',
    summary: 'Tool calls that wait for approval',
    query: z.strictObject(pageQuery),
    responses: ok('Pending approvals, newest first', listOf(approvalShape)),
    handle: async ({ env, tenant, query, authority }) => {
      const waiting = (await tenantStub(env, tenant.id).pending.list(authority)).filter(isApproval)
      const page = pageByKey(waiting, query, ({ since, id }) => [since, id])
      return Response.json({ ...page, data: page.data.map((item) => renderApproval(item, authority)) })
    },
  }),
  route({
    method: 'post',
    path: '/api/approvals/:id',
    id: 'decideApproval',
    params: { id: approvalParam },
    scope: 'approve',
    tag: 'Approvals',
    summary: 'Allow or deny a call',
    description: '`once` allows this call, `session` and `always` also later ones like it. A second answer is a 409.',
    example: { decision: 'once' },
    body: decisionSchema,
    responses: ok('Decided', answerShape),
    handle: async (call) => {
      const id = call.param('id')
      await decideApproval(call, id, call.body)
      return Response.json({ id, status: 'decided', decision: call.body.decision })
    },
  }),
]

function renderApproval(
  { id, session_id, run_id, call_id, tool, input, risk, reasons, rule, since }: Approval,
  authority: Authority,
): object {
  const isExact = hasScope(authority, 'approve')
  const exact: unknown = JSON.parse(input)
  return {
    id,
    session_id,
    run_id,
    call_id,
    tool,
    input: isExact ? exact : maskSecretsInValue(exact),
    risk,
    reasons,
    choices: isRiskAbove(risk, authority.maxRisk) ? ['deny'] : listApprovalChoices(rule),
    ...(rule !== undefined && { rule: isExact ? rule : maskSecrets(rule) }),
    created_at: new Date(since).toISOString(),
  }
}

/** Throws 404 for an approval that never was, and 409 for one that is decided. */
export async function decideApproval(
  { env, authority, tenant }: RouteCall<unknown, unknown>,
  id: string,
  answer: z.infer<typeof decisionSchema>,
): Promise<void> {
  const [sessionId, request] = splitRequestId(id)
  const decided = await addressSession(env, tenant.id, sessionId).pending.decide(authority, request, answer)
  if (decided === undefined) throw notFound()
  if (decided === 'once-only') throw invalid('This call can only be allowed once: no safe rule covers it.', 'decision')
  if (decided === 'policy')
    throw policyError('approvals.rules', 'A key with the scope "approve" may allow calls always.')
  if (decided === 'role')
    throw new AppError(
      403,
      'policy',
      'The role of this key does not allow calls with this risk. It may deny the call.',
      {
        param: 'decision',
      },
    )
  if (decided === 'gone')
    throw new AppError(409, 'conflict', 'This approval has already been decided, or the turn has ended.')
}

/** Describes the parts of paths, for the OpenAPI document. A route names its own under `params`. */

export type PathParam = { readonly description: string; readonly example: string }

const ofId = (noun: string, example: string): PathParam => ({ description: `The id of the ${noun}.`, example })

const sessionExample = 'ses_0f8d6c7b2a9e4d31b5c0a7e9d2f4b681'

export const sessionParam = ofId('session', sessionExample)
export const runParam = ofId('run', `run_5b1f0c9e8a7d4e62.${sessionExample}`)
export const messageNumberParam = { description: 'The number of the message.', example: '1' }
export const pathParam = { description: 'A path in the workspace or skill; slashes are kept.', example: 'report.md' }
export const attachmentParam = {
  description: 'The id of the attachment, as in the address that the message shows.',
  example: 'msg_1.0',
}
export const checkpointParam = {
  description: 'The number of the checkpoint, or its name; 1 is the newest.',
  example: '1',
}
export const questionParam = ofId('question', `${sessionExample}.run_5b1f0c9e8a7d4e62.1.call_1`)
export const approvalParam = ofId('approval', `${sessionExample}.run_5b1f0c9e8a7d4e62.1.call_1`)

export const modelParam = ofId('model', 'talaria')
export const responseParam = ofId('response', `resp_5b1f0c9e8a7d4e62.${sessionExample}`)
export const conversationParam = ofId('conversation', sessionExample)
export const itemParam = ofId('item', 'msg_5b1f0c9e8a7d4e62_0')
export const fileParam = ofId('file', 'file-1f2e3d4c5b6a79880716253443526170')
export const shareParam = ofId('share', 'share_5b1f0c9e8a7d4e629f3a7c1b2d4e6f80')
export const sharedParam = { description: 'The sealed name of the share, as in the link.', example: 'c2hhcmUx' }
export const linkedFileParam = { description: 'The sealed name of the file, as in the link.', example: 'eyJ0Ijoi' }

export const nameParam = { description: 'The name.', example: 'DEPLOY_TOKEN' }
export const skillParam = { description: 'The name of the skill.', example: 'pull-request' }
export const jobParam = ofId('job', '3f9c1a7be204')
export const projectParam = ofId('project', 'proj_1f2e3d4c5b6a79880716253443526170')
export const batchParam = ofId('batch', 'batch_1f2e3d4c5b6a79880716253443526170')
export const pendingParam = ofId('proposed entry', 'pending_1f2e3d4c5b6a7988')
export const memoryVersionParam = { description: 'A version of a store of memory.', example: '12' }
export const credentialParam = ofId('credential', 'cred_1f2e3d4c5b6a79880716253443526170')
export const platformParam = { description: 'The messaging platform.', example: 'telegram' }
export const channelParam = ofId('channel', 'ch_1f2e3d4c5b6a79880716253443526170')
export const pathSecretParam = { description: 'The secret of the webhook.', example: 'b5c0a7e9d2f4b681' }
export const callParam = {
  description: 'The call and its caller, with a proof: the end of the address that the carrier got.',
  example: 'WyJDQTEiLCIrMTU1NTAwMDIyMjIiLDBd.5f2c',
}
export const webhookParam = ofId('webhook', 'wh_1f2e3d4c5b6a79880716253443526170')
export const pairingParam = ofId('person', 'telegram:4711')
export const appParam = ofId('app', 'app_1f2e3d4c5b6a79880716253443526170')
export const keyParam = ofId('key', 'k7q2m5x3a6b4c2de')
export const tenantParam = ofId('tenant', 'acme')
export const loginParam = ofId('login rule', 'login_1f2e3d4c5b6a7988')

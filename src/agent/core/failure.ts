/** Defines the kinds of failures that the recovery policy distinguishes, and their explanations. */

export type FailureKind =
  // the key
  | 'auth' // the provider rejects this key for now
  | 'key-dead' // this key was revoked
  | 'forbidden' // this key is valid but lacks the permission
  | 'quota' // the account has no credit or quota left
  | 'rate' // the key's rate limit is reached
  | 'upstream-rate' // an aggregator's upstream is rate limited; the key is not the reason
  // the provider and the connection
  | 'overloaded' // the provider has no capacity
  | 'server' // the provider had an internal error
  | 'network' // the connection broke or failed
  | 'stalled' // the connection is open, but idle for too long
  | 'tls' // the certificate is invalid
  | 'conflict' // a conflict with another request
  | 'malformed' // the answer is empty, cut or not of the protocol
  // the size of the request
  | 'too-long' // the prompt exceeds the context window
  | 'too-large' // the request has too many bytes
  | 'image-too-large'
  | 'long-context-tier' // the account may not use the whole window
  | 'output-cap' // the requested output exceeds the limit
  // the content of the request
  | 'missing-model'
  | 'refused' // the model or its provider declines to answer
  | 'account-policy' // the account's own rules exclude every provider of this model
  | 'tool-content' // tool results may only be text
  | 'no-stream' // the model or the account cannot stream answers
  | 'no-images' // the model cannot see images
  | 'thinking-signature' // the signature of earlier thinking is rejected
  | 'encrypted-reasoning' // earlier reasoning cannot be decrypted
  | 'grammar' // the server cannot compile a tool schema
  | 'long-context-beta' // the beta header for the long window is not allowed
  | 'invalid' // the request is malformed in some other way
  | 'invalid-output' // the answer does not match the requested format, not even after a repair
  | 'too-many-calls' // one answer calls more tools of the client than a client accepts
  // the session itself
  | 'interrupted' // the object stopped during the call
  | 'aborted' // a stop or a new message cancelled the call
  | 'unconfigured' // no model is available
  | 'limit' // a spending limit has no room for the call
  | 'unpriced' // a limit in USD is set, and the model has no known price
  | 'unknown'

export type Failure = {
  readonly kind: FailureKind
  /** For error messages and logs. Never contains a key. */
  readonly message: string
  readonly status?: number
  /** The pause that the provider asks for. */
  readonly retryAfterMs?: number
  /** With `output-cap`: the tokens that may be requested. */
  readonly available?: number
}

/** The notice at the end of a failed turn begins with these words. */
export const failureNoticeOpening = 'I could not finish this: '

/** Explains each kind to a person. */
export const failureReasons: Readonly<Record<FailureKind, string>> = {
  auth: 'the provider refused the API key',
  'key-dead': 'the API key has been revoked',
  forbidden: 'the API key may not use this model',
  quota: 'the account at the provider has no credit or quota left',
  rate: 'the provider limits the rate of requests and did not recover in time',
  'upstream-rate': 'the model is limited at its provider for everybody at the moment',
  overloaded: 'the provider is overloaded and did not recover in time',
  server: 'the provider keeps failing inside',
  network: 'the connection to the provider kept failing',
  stalled: 'the provider kept sending nothing',
  tls: 'the certificate of the provider does not hold, so nothing was sent',
  conflict: 'the provider kept reporting a conflict with another request',
  malformed: 'the model kept sending answers that could not be used',
  'too-long': 'the conversation no longer fits into the context window, even compressed',
  'too-large':
    'the request is too large for the provider, and nothing in it could be made smaller: send it in smaller parts',
  'image-too-large': 'an image is too large for the model',
  'long-context-tier': 'the account may not use a context of this length',
  'output-cap': 'the model may not write as much as was asked for',
  'missing-model': 'the provider does not have this model',
  refused: 'the model declined to answer',
  'account-policy': 'the privacy or guardrail settings of the provider account exclude this model',
  'tool-content': 'the model cannot read results of this form',
  'thinking-signature': 'the provider did not accept the earlier thinking of the conversation',
  'encrypted-reasoning': 'the provider did not accept the earlier reasoning of the conversation',
  grammar: 'the server cannot use the schema of a tool',
  'long-context-beta': 'the account may not use the long context',
  invalid: 'the provider rejected the request',
  'invalid-output': 'the model did not answer in the requested format, not even when it was told what is wrong',
  'too-many-calls': 'the model called too many tools of the client at once',
  interrupted: 'the system restarted again and again at the same step',
  aborted: 'the call was cancelled',
  unconfigured: 'none of the models that are named can be asked',
  limit: 'a spending limit is reached',
  unpriced: 'a limit in USD is set, and the price of the model is unknown',
  'no-stream': 'the model cannot stream its answers, and could not be asked without streaming',
  'no-images': 'the model cannot see images',
  unknown: 'the provider kept failing',
}

/** Defines the kinds of failures that the recovery policy distinguishes. */

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

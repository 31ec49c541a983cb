/** Why an effect did not succeed, in the only vocabulary the policies understand. */

export type FailureKind =
  | 'auth' // this key is refused: rotate
  | 'quota' // this key or account is out of money: rotate, then fail over
  | 'rate' // slow down, or rotate
  | 'overloaded' // the provider is struggling: back off, then fail over
  | 'network' // the wire broke: try again
  | 'too-long' // the prompt does not fit: compress
  | 'missing-model' // the provider does not have this model: fail over
  | 'refused' // the model will not answer: fail over
  | 'invalid' // our request is malformed: another provider may read it differently
  | 'interrupted' // the object went away while it ran
  | 'aborted' // we cancelled it ourselves: stop, or something newer to say
  | 'unconfigured' // there is no model to ask
  | 'unknown'

export type Failure = {
  readonly kind: FailureKind
  /** For people and logs; never holds a key. */
  readonly message: string
  readonly status?: number
  readonly retryAfterMs?: number
}

/**
 * Lists the phrases in error messages, grouped by meaning. All are lower-case substrings, and their order does not
 * matter. The comment after a phrase names its source: "gateways" are proxies in front of several providers, "usual"
 * means that many providers use it.
 */

export type PhraseGroup = keyof typeof phrases

export const phrases = {
  refused: [
    'flagged for possible cybersecurity risk', // OpenAI, requests that look like attacks
    "violates openai's usage policies", // OpenAI
    'violates our usage policies', // OpenAI, xAI
    'violates usage policies', // OpenAI, through gateways
    'your request was flagged by', // OpenAI, Azure
    'prompt was flagged by our safety', // OpenAI, reasoning models
    'flagged as potentially violating our usage policy', // OpenAI, invalid_prompt
    'responses cannot be generated due to safety', // Google, through gateways
    'content_filter', // Azure and OpenAI, code and finish reason
    'content_policy_violation', // OpenAI, code
    'responsibleaipolicyviolation', // Azure, code of the inner error
    'new_sensitive', // MiniMax
  ],
  /** A replayed thinking block does not verify. */
  thinkingSignature: [
    'signature in thinking block', // Anthropic: "Invalid `signature` in `thinking` block"
    'thinking block signature', // Bedrock
    'invalid `signature`', // Anthropic
    'thinking.signature', // Anthropic, path of the field
    'expected `thinking` or `redacted_thinking`', // Anthropic, a tool call whose thinking is missing
    'cannot contain `thinking`', // Anthropic, thinking switched off in between
  ],
  /** A replayed reasoning item does not decrypt. */
  encryptedReasoning: [
    'invalid_encrypted_content', // OpenAI Responses, code
    'the encrypted content', // OpenAI Responses
    'encrypted content could not be', // OpenAI Responses: "… could not be verified"
    'encrypted_content', // OpenAI Responses, path of the field
    'verified to generate reasoning summaries', // OpenAI, organisations without verification
  ],
  /** The account may not use the context window of 1 M tokens. */
  longContextTier: [
    'extra usage is required for long context', // Anthropic, subscriptions
    'long context beta', // Anthropic, 429
    'usage tier does not support long context', // Anthropic
  ],
  longContextBeta: [
    'context-1m', // Anthropic, name of the beta header
    'long context beta is not', // Anthropic: "… is not yet available for this subscription"
  ],
  grammar: [
    'failed to parse grammar', // llama.cpp
    'grammar_init', // llama.cpp
    'unsupported json schema', // vLLM
    'error compiling grammar', // vLLM with xgrammar
  ],
  /** The model, or the account, cannot stream answers. */
  noStream: [
    'verified to stream this model', // OpenAI: "Your organization must be verified to stream this model"
    "'stream' does not support true", // OpenAI
    'does not support streaming', // usual, Bedrock
    "doesn't support streaming", // usual
    'streaming is not supported', // usual
    'streaming not supported', // usual
    'unsupported for streaming', // Bedrock
    'tool use in streaming mode', // Bedrock: "This model doesn't support tool use in streaming mode"
    'not supported in streaming', // gateways
    'stream is not supported', // gateways
  ],
  /** The model cannot see images. */
  noImages: [
    'image_url is only supported by', // OpenAI: "… by certain models"
    'support image input', // OpenRouter: "No endpoints found that support image input"
    'image input is not supported', // llama.cpp
    'does not support image', // usual
    "doesn't support the image", // Bedrock: "… the image content block that you provided"
    'images are not supported', // usual
    'does not support vision', // gateways
    'is not a multimodal model', // vLLM
    'unknown variant `image_url`', // DeepSeek and other servers in Rust
  ],
  billing: [
    'insufficient credits', // OpenRouter, 402
    'insufficient_quota', // OpenAI, code
    'insufficient balance', // DeepSeek, Moonshot
    'insufficient funds', // gateways
    'credit balance', // Anthropic: "Your credit balance is too low"
    'credits exhausted', // gateways
    'credits have been exhausted', // xAI
    'no usable credits', // gateways
    'top up your credits', // Vercel AI Gateway
    'payment required', // usual, 402
    'billing hard limit', // OpenAI
    'exceeded your current quota', // OpenAI, Google
    'account is deactivated', // OpenAI
    'plan does not include', // Z.AI and other coding plans
    'out of extra usage', // Anthropic, subscriptions
    'out of funds', // gateways
    'balance_depleted', // gateways, code
    'not available on the free tier', // gateways
  ],
  rate: [
    'rate limit', // usual
    'rate_limit', // OpenAI, Anthropic, codes
    'ratelimit', // class names of SDKs
    'too many requests', // usual, 429
    'throttled', // AWS, Alibaba
    'throttling', // AWS ThrottlingException, Alibaba Throttling.RateQuota
    'requests per minute', // OpenAI, Groq
    'requests per day', // OpenAI, OpenRouter, Groq
    'tokens per minute', // OpenAI, Groq
    'try again in', // OpenAI, Groq: "Please try again in 20s"
    'please retry after', // Azure
    'resource_exhausted', // Google, status
    'rate increased too quickly', // Alibaba
    'too many concurrent requests', // Z.AI, gateways
    'servicequotaexceededexception', // Bedrock
  ],
  /** Quota or rate limit; the `transient` phrases decide. */
  usageLimit: [
    'usage limit', // ChatGPT and Claude subscriptions
    'quota', // usual
    'limit exceeded', // usual
    'key limit exceeded', // OpenRouter, 403
  ],
  /** Next to a limit: waiting lifts it. */
  transient: [
    'try again', // usual
    'retry', // usual
    'resets at', // ChatGPT subscriptions
    'reset at', // gateways
    'reset in', // gateways
    'resets in', // ChatGPT subscriptions
    'wait', // usual
    'requests remaining', // gateways
    'periodic', // coding plans: "periodic usage limit"
    'window', // coding plans: "5 hour window"
  ],
  overloaded: [
    'overloaded', // Anthropic 529, OpenAI 503, Z.AI 1305
    'over capacity', // Groq
    'at capacity', // gateways
    'temporarily unavailable due to high demand', // Google
    'engine is currently busy', // OpenAI
  ],
  overflow: [
    'context length', // OpenAI, vLLM
    'context_length', // OpenAI, code context_length_exceeded
    'context size', // llama.cpp
    'context window', // OpenAI Responses, LM Studio
    'maximum context', // OpenAI, OpenRouter
    'token limit', // Mistral, gateways
    'too many tokens', // Cohere, gateways
    'reduce the length', // OpenAI
    'exceeds the limit', // GitHub: "prompt token count … exceeds the limit of"
    'prompt is too long', // Anthropic
    'prompt exceeds max length', // Z.AI
    'maximum number of tokens', // Google
    'max_model_len', // vLLM
    'prompt length', // xAI: "maximum prompt length"
    'input is too long', // Bedrock
    'maximum model length', // vLLM
    'truncating input', // Ollama
    'slot context', // llama.cpp
    'n_ctx_slot', // llama.cpp
    '超过最大长度', // Chinese providers, "exceeds the greatest length"
    '上下文长度', // Chinese providers, "length of the context"
    'max input token', // Alibaba
    'maximum allowed input length', // gateways
    'range of input length', // Alibaba DashScope: "… should be [1, 98304]"
    '`inputs` must have less than', // Text Generation Inference, Together
    '`inputs` tokens + `max_new_tokens`', // Text Generation Inference, Together
    'sequence length', // DeepInfra: "sequence length … exceeds the maximum"
    'length of prompt_tokens', // SiliconFlow
    'max_seq_len', // SiliconFlow
    'input tokens exceed', // OpenAI: "… the configured limit"
  ],
  payload: [
    'request entity too large', // nginx and other proxies, 413
    'payload too large', // proxies, 413
    'request_too_large', // Anthropic, type
    'request exceeds the maximum size', // Anthropic
  ],
  image: [
    'image exceeds', // Anthropic: "image exceeds 5 MB maximum"
    'image too large', // gateways
    'image size exceeds', // gateways
    'image dimensions exceed', // Anthropic
    'max allowed size: 8000', // Anthropic, pixels a side
  ],
  toolContent: [
    'text is not set', // Xiaomi
    'tool content must be a string', // gateways
    'tool message content must be a string', // Mistral
    'expected string, got list', // vLLM
    'expected string, got array', // vLLM
  ],
  model: [
    'is not found for api version', // Gemini
    'is not a valid model', // OpenRouter: "… is not a valid model ID"
    'model identifier is invalid', // Bedrock
    'invalid model', // usual
    'model not found', // usual
    'model_not_found', // OpenAI, code
    'does not exist', // OpenAI, Groq: "The model … does not exist"
    'no such model', // gateways
    'unknown model', // gateways
    'unsupported model', // gateways
    'no endpoints found that support tool use', // OpenRouter
  ],
  /** The request is invalid, whatever the status says. */
  badRequest: [
    'must have non-empty content', // Anthropic
    'content field is required', // Bedrock
    'at least one message is required', // Anthropic
    'unknown parameter', // OpenAI
    'unsupported parameter', // OpenAI
    'unrecognized request argument', // OpenAI
    'invalid type for', // OpenAI
  ],
  /** Privacy or guardrail settings of the account exclude every provider of the model. */
  accountPolicy: [
    'no endpoints available matching your guardrail', // OpenRouter
    'no endpoints found matching your guardrail', // OpenRouter
    'no endpoints available matching your data policy', // OpenRouter
    'no endpoints found matching your data policy', // OpenRouter
    'matching your data policy', // OpenRouter
  ],
  /** The provider behind a gateway is unavailable for a moment. */
  emptyProvider: [
    'provider returned error', // OpenRouter
    'no available providers', // gateways
    'no healthy upstream', // Envoy
    'upstream connect error', // Envoy
  ],
  keyDead: [
    'token revoked', // OAuth
    'token has been revoked', // OAuth
    'key has been revoked', // gateways
    'api key revoked', // gateways
    'token invalidated', // OAuth
    'account is disabled', // gateways
  ],
  auth: [
    'invalid api key', // usual
    'incorrect api key', // OpenAI, xAI
    'invalid x-api-key', // Anthropic
    'invalid_api_key', // OpenAI, code
    'authentication', // Anthropic authentication_error, DeepSeek
    'unauthorized', // usual, 401
    'invalid token', // OAuth
    'token expired', // OAuth
    'access denied', // usual
  ],
  forbidden: [
    'forbidden', // usual, 403
    'permission denied', // Google
    'not authorized', // AWS
  ],
  certificate: [
    'certificate verify failed', // OpenSSL
    'self-signed', // OpenSSL 3
    'self signed', // OpenSSL 1
    'certificate has expired', // OpenSSL
    'certificate expired', // gateways
    'hostname mismatch', // OpenSSL
    'certificate is not trusted', // Workers: "TLS peer's certificate is not trusted"
    'provided no certificate', // Workers: "TLS peer provided no certificate"
  ],
  tlsTransient: [
    'bad record mac', // OpenSSL
    'ssl alert', // OpenSSL
    'tls alert', // OpenSSL
    'handshake failure', // OpenSSL
  ],
  connect: [
    'timed out', // usual
    'timeout', // usual
    'deadline exceeded', // gRPC, Google
    'econnrefused', // Node
    'connection refused', // Unix
    'no route to host', // Unix
    'network unreachable', // Unix
    'name or service not known', // getaddrinfo
    'temporary failure in name resolution', // getaddrinfo
    'getaddrinfo failed', // getaddrinfo
    'enotfound', // Node
    'eai_again', // Node
    'dns lookup failed', // Workers
    'fetch failed', // Node
    'upstream connect error', // Envoy
    'internal error; reference', // Workers
    'connection error', // SDK of OpenAI
  ],
  disconnect: [
    'server disconnected', // HTTP clients behind gateways
    'peer closed connection', // HTTP clients behind gateways
    'connection reset', // Unix
    'econnreset', // Node
    'connection was closed', // gateways
    'network connection lost', // Workers
    'disconnected prematurely', // Workers: "stream disconnected prematurely"
    'unexpected eof', // OpenSSL, Go
    'incomplete chunked read', // HTTP clients behind gateways
    'premature close', // Node
    'other side closed', // Node
    'socket hang up', // Node
  ],
} as const satisfies Record<string, readonly string[]>

export const containsPhrase = (text: string, group: PhraseGroup): boolean =>
  phrases[group].some((phrase) => text.includes(phrase))

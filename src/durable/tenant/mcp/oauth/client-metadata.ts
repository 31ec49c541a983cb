/** Describes Talaria to authorization servers: in a registration, and as a document that they fetch. */

export const redirectUriOf = (origin: string): string => `${origin}/oauth/mcp/callback`

/** The address of the document, which is also the id of the client. */
export const clientDocumentOf = (origin: string): string => `${origin}/oauth/client.json`

export const createClientMetadata = (redirectUri: string) => ({
  client_name: 'Talaria',
  client_uri: new URL(redirectUri).origin,
  redirect_uris: [redirectUri],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  application_type: 'web',
})

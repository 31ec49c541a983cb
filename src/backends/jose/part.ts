/** Exports what the verification of tokens needs of `jose`. It is bundled apart, because most deployments never use it. */

export { createLocalJWKSet, decodeJwt, decodeProtectedHeader, errors, jwtVerify } from 'jose'

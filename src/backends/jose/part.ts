/** Exports what the verification of tokens needs of `jose`. It is bundled apart, because most deployments never use it. */

export { createLocalJWKSet, decodeJwt, errors, jwtVerify } from 'jose'

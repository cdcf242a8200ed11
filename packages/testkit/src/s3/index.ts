export { judgeForm, type PolicyCredentials, policySignature } from './post-policy.js'
export { type S3Fault, S3Proxy } from './s3-proxy.js'
export { hasSwift, SwiftServer } from './swift.js'

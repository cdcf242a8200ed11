/**
 * Resources in answers. A title names the schema in the OpenAPI document. An unset string is "", an
 * unset number 0, an unset boolean false; a field is optional only where the contract ties it to a
 * condition (rule A6).
 */
export * from './apps.js'
export * from './contacts.js'
export * from './devices.js'
export * from './files.js'
export * from './groups.js'
export * from './identity.js'
export * from './login.js'
export * from './messaging.js'
export * from './operator/files.js'
export * from './operator/identity.js'
export * from './operator/integrity.js'
export * from './operator/jobs.js'
export * from './operator/nodes.js'
export * from './operator/push.js'
export * from './operator/secrets.js'
export * from './operator/service-state.js'
export * from './presence.js'
export * from './quotes.js'
export * from './push/push.js'
export * from './push/push-trace.js'
export * from './results.js'
export * from './sync.js'
export * from './users.js'
export * from './webhooks/webhooks.js'

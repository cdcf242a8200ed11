// Imports only a part of protocol, since the writer's thread loads this file too.
export { systemUserId } from '@hermod/protocol/enums'

// Not all of protocol, for the writer's thread loads this too.
export { systemUserId } from '@hermod/protocol/enums'

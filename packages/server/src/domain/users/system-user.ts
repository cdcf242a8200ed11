export { systemUserId } from '@hermod/protocol'

export { TestAuthority } from './certificates.js'
export { certificateFields, describeSimulator, replyText } from './describe.js'
export {
  type GatewayOptions,
  type RecordedCall,
  type SimulatedCertificate,
  SimulatedGateway,
} from './gateway.js'
export { vendorFAccessToken } from './gateways/vendor-f.js'
export { vendorHCallback } from './gateways/vendor-h.js'
export { gatewayModels, PushSimulator, type PushSimulatorOptions } from './gateways.js'
export {
  type SimulatedChannel,
  type SimulatedCredentials,
  type SimulatedDelivery,
  simulatedChannels,
} from './model.js'
export { simulatedTemplates } from './templates.js'
export { type Script, type ScriptName, scriptNames, scriptOf, scripts } from './scripts.js'

export { describeSimulator, replyText } from './describe.js'
export { TestAuthority } from './certificates.js'
export {
  type GatewayOptions,
  type RecordedCall,
  SimulatedGateway,
  type SimulatedCertificate,
} from './gateway.js'
export { gatewayModels, PushSimulator, type SimulatorOptions } from './gateways.js'
export { vendorFAccessToken } from './gateways/vendor-f.js'
export { vendorHCallback } from './gateways/vendor-h.js'
export {
  type Delivery,
  type SimulatedChannel,
  type SimulatedCredentials,
  simulatedChannels,
} from './model.js'
export { type Script, type ScriptName, scriptNames, scriptOf, scripts } from './scripts.js'

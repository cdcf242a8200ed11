import { expect, it } from 'vitest'
import { gatewayUrl } from './gateway-url.js'

it.each([
  ['https://chat.example.org', 'wss://chat.example.org/gateway'],
  ['https://chat.example.org/', 'wss://chat.example.org/gateway'],
  ['http://127.0.0.1:8080', 'ws://127.0.0.1:8080/gateway'],
  ['https://example.org/chat/', 'wss://example.org/chat/gateway'],
  ['https://example.org/chat?x=1#y', 'wss://example.org/chat/gateway'],
])('the gateway of %s is %s', (service, gateway) => {
  expect(gatewayUrl(service)).toBe(gateway)
})

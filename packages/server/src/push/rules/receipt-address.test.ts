import { expect, it } from 'vitest'
import { type ReceiptSetUp, receiptProblem } from './receipt-address.js'

const path = '/push/receipts/vendor/1.secret'
const complete = {
  url: `https://chat.example.org${path}`,
  isPublic: true,
  isRequested: true,
  receiptId: undefined,
}
const local = { url: path, isPublic: false }
/** An address of 140 bytes in 139 characters. */
const long = { url: `https://chat.example.org/\u00fc${'x'.repeat(113)}` }
const off = { isRequested: false }
const byId = { receiptId: '7145' }

it.each<[ReceiptSetUp['channel'], Partial<ReceiptSetUp>, string]>([
  ['ios_gw', { ...local, ...off }, ''],
  ['cloud_gw', { ...local, ...off }, ''],
  ['vendor_h', {}, ''],
  ['vendor_h', local, 'receipt_url is only a path, since HERMOD_PUBLIC_URL is not set'],
  ['vendor_n', local, 'receipt_url is only a path, since HERMOD_PUBLIC_URL is not set'],
  ['vendor_h', { ...long, ...byId }, ''],
  ['vendor_h', { ...byId, ...off }, 'pushes request no receipts; set --receipts on'],
  ['vendor_x', {}, ''],
  ['vendor_x', local, 'pushes request no receipts, since HERMOD_PUBLIC_URL is not set'],
  ['vendor_x', off, 'pushes request no receipts; set --receipts on'],
  [
    'vendor_x',
    long,
    'pushes request no receipts: receipt_url has 140 bytes, and vendor_x takes 128; HERMOD_PUBLIC_URL is too long',
  ],
  ['vendor_o', long, ''],
  [
    'vendor_f',
    { ...long, ...off },
    'pushes request no receipts: receipt_url has 140 bytes, and vendor_f takes 128; HERMOD_PUBLIC_URL is too long',
  ],
  [
    'vendor_f',
    off,
    "pushes request no receipts; register receipt_url in the vendor's console, then set --receipts on",
  ],
  ['vendor_f', {}, ''],
  [
    'vendor_v',
    long,
    'pushes request no receipts: receipt_url has 140 bytes, and vendor_v takes 128; HERMOD_PUBLIC_URL is too long',
  ],
  [
    'vendor_v',
    {},
    "the gateway sends no receipts of pushes to several devices at once; enter receipt_url in the vendor's console, then set --receipt-id",
  ],
  ['vendor_v', off, 'pushes request no receipts; set --receipts on'],
  ['vendor_v', { ...long, ...byId }, ''],
  [
    'vendor_v',
    { ...local, ...byId },
    'receipt_url is only a path, since HERMOD_PUBLIC_URL is not set',
  ],
])('receipt_problem of %s with %j is "%s"', (channel, changes, problem) => {
  expect(receiptProblem({ channel, ...complete, ...changes })).toBe(problem)
})

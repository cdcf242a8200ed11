import { expect, it } from 'vitest'
import { aLog, aMessage } from '../../../test/support/fake-session.js'
import { storedMessage } from './message.js'

const attachmentOf = (attachment: string) =>
  storedMessage(aMessage('d1.9', 1, { attachment }), aLog('d1.9'), { me: 1, status: 'sent' })
    .attachment

it('attachment: name and size are also read from the names of other clients', () => {
  expect(attachmentOf('{"url":"u","dName":"a.png","fLen":5,"width":3,"mine":[1]}')).toEqual({
    url: 'u',
    name: 'a.png',
    size: 5,
    width: 3,
    dName: 'a.png',
    fLen: 5,
    mine: [1],
  })
})

it('attachment: a member of another type than the interface says is left out', () => {
  const members = { url: {}, name: [1], size: '5', width: -1, height: null, duration: true }
  expect(attachmentOf(JSON.stringify({ ...members, mine: {} }))).toEqual({ mine: {} })
  expect(attachmentOf('{"width":1e999,"dName":{},"fLen":{}}')).toEqual({ dName: {}, fLen: {} })
})

it('attachment: a member __proto__ is one of the app, and changes no prototype', () => {
  const attachment = attachmentOf('{"__proto__":{"url":"javascript:alert(1)"}}')
  expect(attachment?.url).toBeUndefined()
  expect(Object.getPrototypeOf(attachment)).toBe(Object.prototype)
})

it.each(['', 'no JSON', 'null', '5', '[1]', '{"url":'])('attachment: %j is none', (text) => {
  expect(attachmentOf(text)).toBeUndefined()
})

import { expect, test } from 'vitest'
import { ResponseReader } from './response-reader.js'

const body = '{"code":200,"data":true,"message":null}'
const answer = Buffer.from(
  `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
)

test('an answer is read however it is cut', () => {
  for (let cut = 1; cut < answer.length; cut++) {
    const reader = new ResponseReader()
    const reused = Buffer.from(answer.subarray(0, cut))
    expect(reader.feed(reused)).toBe(false)
    reused.fill(0)
    expect(reader.feed(answer.subarray(cut))).toBe(true)
    expect([reader.status, reader.body.toString(), reader.succeeded, reader.closes]).toEqual([
      200,
      body,
      true,
      false,
    ])
  }
})

test('answers follow each other on one connection', () => {
  const reader = new ResponseReader()
  expect([reader.feed(answer), reader.feed(answer)]).toEqual([true, true])
})

function readAnswer(status: string, text: string) {
  const reader = new ResponseReader()
  reader.feed(
    Buffer.from(
      `HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: ${text.length}\r\n\r\n${text}`,
    ),
  )
  return reader
}

test('only HTTP 200 with code 200 is success', () => {
  expect(readAnswer('200 OK', '{"data":1,"code":200}').succeeded).toBe(true)
  expect(readAnswer('200 OK', '{"code":2001,"data":null}').succeeded).toBe(false)
  expect(
    readAnswer('200 OK', '{"code":10002,"data":null,"message":"\\"code\\":200,"}').succeeded,
  ).toBe(false)
  expect(readAnswer('503 Service Unavailable', body).succeeded).toBe(false)
})

test('a closing connection is noticed', () => {
  expect(readAnswer('200 OK', body).closes).toBe(true)
})

test('what cannot be counted is refused', () => {
  const feed = (text: string) => () => new ResponseReader().feed(Buffer.from(text))
  expect(feed('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n')).toThrow('Content-Length')
  expect(feed('SSH-2.0\r\n\r\n')).toThrow('no HTTP/1.1 answer')
  expect(feed(`${answer}x`)).toThrow('more bytes')
})

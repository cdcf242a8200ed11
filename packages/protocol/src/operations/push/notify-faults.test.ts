import { describe, expect, it } from 'vitest'
import { notifyError, notifyFaults } from './notify-faults.js'

const message = { body: 'x' }

describe('the audience', () => {
  it.each([
    ['all', []],
    [{ tag: ['a'] }, []],
    [{}, ['audience must be all or an object with one of tag, alias, user_id, push_token']],
    [
      { tag: ['a'], alias: ['b'] },
      ['audience must have only one of tag, alias, user_id, push_token'],
    ],
    [{ user_id: [] }, ['audience.user_id must not be empty']],
    [
      { tag: ['', 'a', ' \t\u3000'] },
      ['audience.tag[0] must not be blank', 'audience.tag[2] must not be blank'],
    ],
    [{ alias: [' '] }, ['audience.alias[0] must not be blank']],
    [{ push_token: ['a', ''] }, ['audience.push_token[1] must not be blank']],
  ])('%j: %j', (audience, faults) => {
    expect(notifyFaults({ audience, message })).toEqual(faults)
  })
})

describe('the message', () => {
  const url = 'message.attachment_url must'
  const image = `${url} end in jpg, jpeg or png when it is an image`
  const order = 'message.show_end_time must be after message.show_begin_time'

  it.each<[object, string[]]>([
    [{}, ['message must not be blank']],
    [{ title: '' }, []],
    [{ type: 'image', attachment_url: 'https://x.example/a.JPG?size=1' }, []],
    [{ type: 'image', attachment_url: 'https://x.example/a.bmp' }, [image]],
    [{ type: 'image', attachment_url: 'https://x.example/a' }, [image]],
    [{ type: 'text', attachment_url: 'https://x.example/a.bmp#.png' }, [image]],
    [{ type: 'text', attachment_url: 'https://x.example/a.mp3' }, []],
    [{ attachment_url: 'ftp://x.example/a.png' }, [`${url} be an http or https URL`]],
    [{ attachment_url: '' }, []],
    [{ show_begin_time: 5, show_end_time: 5 }, [order]],
    [{ show_begin_time: 5, show_end_time: 6 }, []],
    [{ show_end_time: 6 }, []],
    [{ show_begin_time: 5, show_end_time: 0 }, []],
    [{ ext: { text: 'ü'.repeat(2042) } }, []],
    [{ ext: { text: 'ü'.repeat(2043) } }, ['message.ext must have at most 4096 bytes as JSON']],
    [{ vendor_h: { click_action: 'open_app' } }, []],
    [{ vendor_h: { click_action: 'intent', intent: 'intent:#Intent;end' } }, []],
  ])('%j: %j', (fields, faults) => {
    expect(notifyFaults({ audience: 'all', message: fields })).toEqual(faults)
  })

  it('needs an intent with the click action intent, in each block', () => {
    const blocks = ['android', 'vendor_h', 'vendor_x', 'vendor_f', 'vendor_o', 'vendor_v']
    const all = [...blocks, 'vendor_n', 'cloud_gw']
    const fields = Object.fromEntries(
      all.map((name, index) => [
        name,
        { click_action: 'intent', ...(index % 2 === 0 && { intent: '' }) },
      ]),
    )
    expect(notifyFaults({ audience: 'all', message: fields })).toEqual(
      all.map((name) => `message.${name}.intent is required when click_action is intent`),
    )
  })
})

it('ext may have integers beyond 2^53', () => {
  expect(notifyFaults({ audience: 'all', message: { ext: { id: 2n ** 60n } } })).toEqual([])
})

it('everything that is wrong is told together', () => {
  const wrong = { show_begin_time: 2, show_end_time: 1, attachment_url: 'x' }
  expect(notifyFaults({ audience: {}, message: wrong })).toHaveLength(3)
})

it('a value that the schema refuses has no second fault', () => {
  expect(notifyFaults({})).toEqual([])
  expect(notifyFaults({ audience: 'some', message: 7 })).toEqual([])
  expect(notifyFaults({ audience: { tag: undefined }, message: { title: undefined } })).toEqual([])
  const android = { click_action: 'intent', intent: undefined }
  expect(notifyFaults({ message: { android } })).toEqual([])
})

it('a list that is too long decides about the error, with and without other faults', () => {
  const tooLong = 'audience.push_token must have at most 500 items'
  expect(notifyError([tooLong])).toBe('audience_too_long')
  expect(notifyError(['message is required', tooLong])).toBe('audience_too_long')
  expect(notifyError(['message is required'])).toBe('invalid_parameter')
})

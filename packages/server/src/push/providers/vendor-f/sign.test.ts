import { expect, it } from 'vitest'
import { vendorFSign } from './sign.js'

it('signs fields by name with raw values, as in the known example', () => {
  const fields = {
    pushIds: 'P1,P2',
    messageJson: '{"noticeBarInfo":{"title":"t","content":"c"}}',
    appId: '10000',
  }
  expect(vendorFSign(fields, 's-demo')).toBe('786794ce59076accecce7e638da9abe9')
})

import { imageType } from '@hermod/protocol'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { pictureForm } from './rendition-model.js'

const thumbnail = (width?: number, height?: number) =>
  pictureForm({ imageType: imageType.thumbnail, width, height })

describe('the form of a picture', () => {
  it('is 200 by 200 unless something else is asked for', () => {
    const form = { width: 200, height: 200, fit: 'inside', name: 'thumbnail-200x200' }
    expect(thumbnail()).toEqual(form)
    expect(thumbnail(0, 0)).toEqual(form)
  })

  it('is a square of the longer side, rounded up', () => {
    expect(thumbnail(201, 99.5)).toMatchObject({ width: 800, height: 800 })
    expect(thumbnail(640, 801)).toMatchObject({ width: 1_600, height: 1_600 })
    expect(thumbnail(undefined, 1)).toMatchObject({ width: 200, height: 200 })
    expect(thumbnail(1e308, 1_601)).toMatchObject({ width: 1_600, height: 1_600 })
  })

  it('of a cover fills its size and has another name', () => {
    const cover = pictureForm({ imageType: imageType.cover, width: 100 })
    expect(cover).toEqual({ width: 200, height: 200, fit: 'cover', name: 'cover-200x200' })
  })

  it('is one of few, whatever is asked for', () => {
    const side = fc.double({ min: 0, noNaN: true })
    fc.assert(
      fc.property(side, side, (width, height) => {
        expect([200, 800, 1_600]).toContain(thumbnail(width, height).width)
      }),
    )
  })
})

//! A picture of a page, for people who want to see where a value was read.

use hayro::hayro_interpret::InterpreterSettings;
use hayro::vello_cpu::color::palette::css::WHITE;
use hayro::{PixmapSettings, RenderCache, RenderSettings, render};
use hayro_syntax::Pdf;

use crate::foreign;
use crate::pdf;

/// The widest picture that is drawn; a wish for more gives this.
pub const MAX_WIDTH: u32 = 2000;

/// The tallest picture. A page of several times its width in height is a web page printed in one piece, and would cost more memory
/// than the look at it is worth.
const MAX_HEIGHT: f32 = 6000.0;

/// A PNG of one page of a PDF, `width` pixels wide; pages count from 1, as in [`Place`](zhulu_record::Place). `None` if
/// the bytes are no readable PDF, it has no such page, or the page is too large or too laborious to draw.
pub fn page_image(bytes: &[u8], page: u32, width: u32) -> Option<Vec<u8>> {
    let width = width.clamp(1, MAX_WIDTH);
    let index = usize::try_from(page).ok()?.checked_sub(1)?;
    if bytes.len() > pdf::MAX_BYTES {
        return None;
    }
    foreign::call(|| draw(bytes.to_vec(), index, width as f32)).ok().flatten()
}

fn draw(bytes: Vec<u8>, index: usize, width: f32) -> Option<Vec<u8>> {
    let pdf = Pdf::new(bytes).ok()?;
    let page = pdf.pages().get(index)?;
    let (page_width, page_height) = page.render_dimensions();
    let scale = width / page_width;
    let height = page_height * scale;
    if !(scale.is_finite() && scale > 0.0 && (1.0..=MAX_HEIGHT).contains(&height)) {
        return None;
    }
    // The renderer cannot be stopped half way, so a run that only counts the work decides whether to start it.
    if !pdf::is_drawable(&pdf, index) {
        return None;
    }
    // The product may fall a hair short of the width asked for, and the renderer cuts fractions off.
    let settings = PixmapSettings {
        x_scale: (width + 0.01) / page_width,
        y_scale: (height + 0.01) / page_height,
        bg_color: WHITE,
    };
    let pixmap =
        render(page, &RenderCache::new(), &InterpreterSettings::default(), &RenderSettings::default(), &settings);
    pixmap.into_png().ok()
}

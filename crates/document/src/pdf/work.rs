//! How much drawing a page holds: asked before its picture is drawn, because the renderer cannot be stopped half way.

use hayro_interpret::font::GlyphRun;
use hayro_interpret::kurbo::{BezPath, Rect};
use hayro_interpret::{
    BlendMode, ClipPath, Context, Device, DrawMode, DrawProps, Image, ImageDrawProps, InterpreterCache,
    InterpreterSettings, SoftMask, TransformExt, interpret_page,
};
use hayro_syntax::Pdf;
use hayro_syntax::object::{Array, Object, Stream};

use super::bound;
use crate::foreign;

/// How much drawing a page may hold. A dense page of text has 10,000 letters, a map 200,000 paths; beyond this is an attack or a
/// mistake, and reading on would hold up the queue.
pub(super) const MAX_WORK: usize = 1_000_000;

/// A letter costs memory as well, and so counts as several paths.
pub(super) const WORK_PER_GLYPH: usize = 4;

/// Every form drawn clips first, and forms in forms can double at each level: this is what bounds them.
const WORK_PER_CLIP: usize = 10;

/// An image counts as one piece of work for every so many of its pixels: decoding, not drawing, is its price.
const PIXELS_PER_WORK: u64 = 1000;

/// Whether a page, counted from 0, can be drawn in good time and memory.
pub(crate) fn is_drawable(pdf: &Pdf, index: usize) -> bool {
    let work = foreign::call(|| {
        let page = pdf.pages().get(index)?;
        let contents = match page.raw().get::<Object<'_>>(b"Contents")? {
            Object::Stream(stream) => vec![stream],
            Object::Array(array) => streams(&array),
            _ => Vec::new(),
        };
        if !contents.iter().all(|stream| bound::fits(stream, bound::MAX_STREAM)) {
            return None;
        }
        let (width, height) = page.render_dimensions();
        let frame = Rect::new(0.0, 0.0, f64::from(width), f64::from(height));
        let cache = InterpreterCache::new();
        let settings = InterpreterSettings::default();
        let mut context = Context::new(page.initial_transform(true).to_kurbo(), frame, &cache, page.xref(), settings);
        interpret_page(page, &mut context, &mut Counter::default());
        Some(())
    });
    matches!(work, Ok(Some(())))
}

fn streams<'a>(array: &Array<'a>) -> Vec<Stream<'a>> {
    array.iter::<Object<'a>>().filter_map(|object| object.into_stream()).collect()
}

#[derive(Default)]
struct Counter {
    work: usize,
}

impl Counter {
    fn work(&mut self, amount: usize) {
        self.work = self.work.saturating_add(amount);
        if self.work > MAX_WORK {
            foreign::enough();
        }
    }
}

impl<'a> Device<'a> for Counter {
    fn draw_glyph_run(&mut self, run: &GlyphRun<'_, 'a>, _: DrawProps<'a>, _: &DrawMode) {
        self.work(1 + WORK_PER_GLYPH * run.glyphs().len());
    }

    fn draw_path(&mut self, _: &BezPath, _: DrawProps<'a>, _: &DrawMode) {
        self.work(1);
    }

    fn push_clip_path(&mut self, _: &ClipPath) {
        self.work(WORK_PER_CLIP);
    }

    fn push_transparency_group(&mut self, _: f32, _: Option<SoftMask<'a>>, _: BlendMode) {
        self.work(1);
    }

    fn draw_image(&mut self, image: Image<'a, '_>, _: ImageDrawProps<'a>) {
        let pixels = u64::from(image.width()) * u64::from(image.height());
        self.work(1 + usize::try_from(pixels / PIXELS_PER_WORK).unwrap_or(MAX_WORK));
    }

    fn pop_clip(&mut self) {}

    fn pop_transparency_group(&mut self) {}
}

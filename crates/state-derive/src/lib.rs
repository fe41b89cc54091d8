//! The derives of `ndnweir_state`: `Value` for what is made from its bytes, `State` for what is built first and then
//! takes up its state.
//!
//! Attributes of fields: `#[state(skip)]` is not kept (of a `Value` it becomes its default, of a `State` it stays as
//! built), `#[state(each)]` keeps the state of every item of a `Vec`, slice, array or `Option` of the same size as when
//! built, `#[state(inner)]` that of what a `Box` holds, `#[state(each, inner)]` that of the boxes in an `Option` or list, and
//! `#[state(flat)]` that of the boxes in a list of options; `#[state(perhaps)]` that of what an `Option` holds, which may
//! have gone since it was built.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Attribute, Data, DeriveInput, Fields, Generics, Index, Member, parse_macro_input, parse_quote};

#[derive(Clone, Copy, PartialEq)]
enum How {
    Whole,
    Skip,
    Each,
    Inner,
    EachInner,
    Flat,
    Perhaps,
}

fn how(attributes: &[Attribute]) -> syn::Result<How> {
    let mut how = How::Whole;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("state")) {
        attribute.parse_nested_meta(|meta| {
            how = match () {
                () if meta.path.is_ident("skip") => How::Skip,
                () if meta.path.is_ident("each") => How::Each,
                () if meta.path.is_ident("inner") && how == How::Each => How::EachInner,
                () if meta.path.is_ident("inner") => How::Inner,
                () if meta.path.is_ident("flat") => How::Flat,
                () if meta.path.is_ident("perhaps") => How::Perhaps,
                () => return Err(meta.error("expected skip, each, inner, flat or perhaps")),
            };
            Ok(())
        })?;
    }
    Ok(how)
}

/// A field: what it is called, what a pattern binds it to, and how it is kept.
struct Field {
    member: Member,
    bound: syn::Ident,
    how: How,
}

fn fields(fields: &Fields) -> syn::Result<Vec<Field>> {
    let field = |(place, field): (usize, &syn::Field)| {
        let member = field.ident.clone().map_or_else(|| Member::Unnamed(Index::from(place)), Member::Named);
        Ok(Field { member, bound: format_ident!("field_{place}"), how: how(&field.attrs)? })
    };
    fields.iter().enumerate().map(field).collect()
}

/// A variant of an enum, or all of a struct: the path of its constructor and its fields.
struct Variant {
    path: TokenStream,
    fields: Vec<Field>,
}

/// The variants of a type, and whether there is a number to tell them apart.
fn variants(input: &DeriveInput) -> syn::Result<(Vec<Variant>, bool)> {
    match &input.data {
        Data::Struct(data) => Ok((vec![Variant { path: quote!(Self), fields: fields(&data.fields)? }], false)),
        Data::Enum(data) => {
            let variant = |variant: &syn::Variant| {
                let name = &variant.ident;
                Ok(Variant { path: quote!(Self::#name), fields: fields(&variant.fields)? })
            };
            Ok((data.variants.iter().map(variant).collect::<syn::Result<_>>()?, true))
        }
        Data::Union(_) => Err(syn::Error::new_spanned(&input.ident, "a union has no state that is known")),
    }
}

impl Variant {
    fn pattern(&self) -> TokenStream {
        let path = &self.path;
        let fields = self
            .fields
            .iter()
            .filter(|field| field.how != How::Skip)
            .map(|Field { member, bound, .. }| quote!(#member: #bound));
        quote!(#path { #(#fields,)* .. })
    }
}

fn bounded(generics: &Generics, bound: &syn::TypeParamBound) -> Generics {
    let mut generics = generics.clone();
    for parameter in generics.type_params_mut() {
        parameter.bounds.push(bound.clone());
    }
    generics
}

/// Makes it a value that is written and read whole.
#[proc_macro_derive(Value, attributes(state))]
pub fn value(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    derive_value(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

fn derive_value(input: &DeriveInput) -> syn::Result<TokenStream> {
    let (variants, is_enum) = variants(input)?;
    let mut writes = Vec::new();
    let mut reads = Vec::new();
    for (number, variant) in (0u32..).zip(&variants) {
        let pattern = variant.pattern();
        let kept: Vec<_> = variant.fields.iter().filter(|f| f.how != How::Skip).map(|f| &f.bound).collect();
        let tag = is_enum.then(|| quote!(to.tag(#number);));
        writes.push(quote!(#pattern => { #tag #(::ndnweir_state::Value::write(#kept, to);)* }));
        let mut members = Vec::new();
        for Field { member, how, .. } in &variant.fields {
            members.push(match how {
                How::Whole => quote!(#member: ::ndnweir_state::Value::read(from)?),
                How::Skip => quote!(#member: ::core::default::Default::default()),
                _ => return Err(syn::Error::new_spanned(&input.ident, "a value is kept whole")),
            });
        }
        let path = &variant.path;
        reads.push(match is_enum {
            true => quote!(#number => #path { #(#members),* },),
            false => quote!(#path { #(#members),* }),
        });
    }
    let read = match is_enum {
        true => quote!(match from.tag()? { #(#reads)* _ => return Err(from.damaged()) }),
        false => quote!(#(#reads)*),
    };
    let name = &input.ident;
    let generics = bounded(&input.generics, &parse_quote!(::ndnweir_state::Value));
    let (implementation, types, conditions) = generics.split_for_impl();
    Ok(quote! {
        impl #implementation ::ndnweir_state::Value for #name #types #conditions {
            #[cold]
            fn write(&self, to: &mut ::ndnweir_state::Writer) {
                let _ = &to;
                match self { #(#writes)* }
            }

            #[cold]
            fn read(from: &mut ::ndnweir_state::Reader<'_>) -> Result<Self, ::ndnweir_state::Damaged> {
                let _ = &from;
                Ok(#read)
            }
        }
    })
}

/// Makes it a thing that is built first and then takes up its state.
#[proc_macro_derive(State, attributes(state))]
pub fn state(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    derive_state(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

fn derive_state(input: &DeriveInput) -> syn::Result<TokenStream> {
    let (variants, is_enum) = variants(input)?;
    let (mut saves, mut loads) = (Vec::new(), Vec::new());
    for (number, variant) in (0u32..).zip(&variants) {
        let pattern = variant.pattern();
        let (mut save, mut load) = (Vec::new(), Vec::new());
        for Field { bound, how, .. } in &variant.fields {
            match how {
                How::Skip => {}
                How::Whole => {
                    save.push(quote!(::ndnweir_state::State::save(#bound, to);));
                    load.push(quote!(::ndnweir_state::State::load(#bound, from)?;));
                }
                How::Inner => {
                    save.push(quote!(::ndnweir_state::State::save(&**#bound, to);));
                    load.push(quote!(::ndnweir_state::State::load(&mut **#bound, from)?;));
                }
                How::EachInner => {
                    save.push(quote!(::ndnweir_state::save_each(#bound.iter().map(|item| &**item), to);));
                    load.push(quote!(::ndnweir_state::load_each(#bound.iter_mut().map(|item| &mut **item), from)?;));
                }
                How::Perhaps => {
                    save.push(quote!(::ndnweir_state::save_perhaps(#bound.as_ref(), to);));
                    load.push(quote!(::ndnweir_state::load_perhaps(#bound, from)?;));
                }
                How::Flat => {
                    save.push(quote! {
                        let items: Vec<_> = #bound.iter().flatten().map(|item| &**item).collect();
                        ::ndnweir_state::save_each(items.into_iter(), to);
                    });
                    load.push(quote! {
                        let items: Vec<_> = #bound.iter_mut().flatten().map(|item| &mut **item).collect();
                        ::ndnweir_state::load_each(items.into_iter(), from)?;
                    });
                }
                How::Each => {
                    save.push(quote!(::ndnweir_state::save_each(#bound.iter(), to);));
                    load.push(quote!(::ndnweir_state::load_each(#bound.iter_mut(), from)?;));
                }
            }
        }
        let tag = is_enum.then(|| quote!(to.tag(#number);));
        saves.push(quote!(#pattern => { #tag #(#save)* }));
        let expected = is_enum.then(|| quote!(from.expect_tag(#number)?;));
        loads.push(quote!(#pattern => { #expected #(#load)* }));
    }
    let name = &input.ident;
    let generics = bounded(&input.generics, &parse_quote!(::ndnweir_state::State));
    let (implementation, types, conditions) = generics.split_for_impl();
    Ok(quote! {
        impl #implementation ::ndnweir_state::State for #name #types #conditions {
            #[cold]
            fn save(&self, to: &mut ::ndnweir_state::Writer) {
                let _ = &to;
                match self { #(#saves)* }
            }

            #[cold]
            fn load(&mut self, from: &mut ::ndnweir_state::Reader<'_>) -> Result<(), ::ndnweir_state::Damaged> {
                let _ = &from;
                match self { #(#loads)* }
                Ok(())
            }
        }
    })
}

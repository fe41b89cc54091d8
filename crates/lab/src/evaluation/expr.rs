//! Expressions of evaluations: a metric's dotted name, or functions of such names.
//!
//! `consumers.C1.goodput_mbps`, `mean(links.B>A.queue_ms, 20, 50)`, `ratio(goodput_mbps@rp-abc, goodput_mbps@pcon)`.
//! `@SCHEME` or `@EXPERIMENT:SCHEME` takes a value from the run of that scheme with the same seed and case. A `*`
//! instead of a name in an argument of `sum`, `average`, `largest` and similar functions includes every name:
//! `largest(links.*.queue_ms)`.

use std::fmt;

/// The function of an expression. Series are named `TABLE.KEY.METRIC` as in a result folder's CSV files; times are in
/// s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// `mean(series, from, to)` over the bins between the two times.
    Mean,
    /// `highest(series, from, to)`.
    Highest,
    /// `lowest(series, from, to)`.
    Lowest,
    /// `total(series, from, to)`: sum of the bins, for counts such as marks.
    Total,
    /// `variation(series, from, to)`: standard deviation over mean of the 1 s means.
    Variation,
    /// `jain(consumers.*.goodput_mbps, from, to)`: Jain index of the means; `*` is every consumer.
    Jain,
    /// `least(consumers.*.goodput_mbps, from, to)`: the smallest of the means. With a fourth argument the smallest that
    /// any consumer has in any stretch of that many s, which starvation for so long shows in.
    Least,
    /// `balance(series, series, from, to)`: mean over bins of the smaller value over the larger; 1 is equal.
    Balance,
    /// `reach(series, from, level)`: s after `from` until a bin is at least `level`, which may be an expression; if
    /// there is no such bin, until the end of the series. A fourth argument uses means over that many s.
    Reach,
    /// `peak-share(a, b, from, to, window, least)`: the largest share that series `a` has of the sum of `a` and `b`
    /// in any stretch of `window` s, which may be an expression; at least one bin, else rounded up to whole bins.
    /// Stretches with a sum below `least` do not count. With drops and packets sent it is what a circuit breaker
    /// (RFC 8084) compares with its threshold.
    PeakShare,
    /// `convergence(series, band, tail)`: s from the start after which every 1 s mean stays within the fraction `band`
    /// of the mean of the last fraction `tail`. A series that does not converge has its whole length as the value,
    /// which underestimates. A fourth argument uses means over that many s.
    Convergence,
    /// `burst-count(series, gap, least)`: number of bursts of at least `least` in a count such as `consumers.C1.nacks`;
    /// a pause longer than `gap` s separates two bursts.
    BurstCount,
    /// `burst-start(series, gap, n)`: the start of the nth burst, in s, with the resolution of a bin.
    BurstStart,
    /// `burst-size(series, gap, n)`: the sum of the count over the nth burst.
    BurstSize,
    /// `dwell(key, value)`: mean time, in s, between a component's record of `value` under `key` and its next record;
    /// `dwell(key, value, from, to)` only for records with these numbers.
    Dwell,
    /// `event(key)`: the first value that a component recorded under `key`; `event(key, id)` with that number.
    Event,
    /// `when(key)`, `when(key, id)`: the time of that record, in s.
    When,
    /// `ratio(a, b)`.
    Ratio,
    /// `difference(a, b)` = a − b.
    Difference,
    /// `harm(alone, beside)` = (alone − beside) / alone, never below 0: harm to what should be large, such as a rate,
    /// after Ware, Mukerjee, Seshan, Sherry, "Beyond Jain's Fairness Index", HotNets 2019, section 4.
    Harm,
    /// `harm-less(alone, beside)` = (beside − alone) / beside, never below 0: the same for what should be small, such
    /// as a delay.
    HarmLess,
    /// `sum(a, b, …)`.
    Sum,
    /// `product(a, b, …)`.
    Product,
    /// `average(a, b, …)`: the mean of all.
    Average,
    /// `largest(a, b, …)`.
    Largest,
    /// `smallest(a, b, …)`.
    Smallest,
}

/// Arguments of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signature {
    /// A series, then two numbers; a third for [`Function::Convergence`] and [`Function::Least`].
    Series,
    /// Two series, then two numbers.
    Pair,
    /// A series, a number, an expression, and at most one number.
    Reach,
    /// Two series, two numbers, an expression, and a number.
    Share,
    /// An event key, then at most one number.
    Event,
    /// An event key, a value, and at most two numbers.
    Dwell,
    /// The least and the largest number of expressions.
    Values(usize, usize),
}

impl Function {
    /// All functions with their names.
    pub const ALL: [(&'static str, Function); 26] = [
        ("mean", Function::Mean),
        ("highest", Function::Highest),
        ("lowest", Function::Lowest),
        ("total", Function::Total),
        ("variation", Function::Variation),
        ("jain", Function::Jain),
        ("least", Function::Least),
        ("balance", Function::Balance),
        ("reach", Function::Reach),
        ("peak-share", Function::PeakShare),
        ("convergence", Function::Convergence),
        ("burst-count", Function::BurstCount),
        ("burst-start", Function::BurstStart),
        ("burst-size", Function::BurstSize),
        ("dwell", Function::Dwell),
        ("event", Function::Event),
        ("when", Function::When),
        ("ratio", Function::Ratio),
        ("difference", Function::Difference),
        ("harm", Function::Harm),
        ("harm-less", Function::HarmLess),
        ("sum", Function::Sum),
        ("product", Function::Product),
        ("average", Function::Average),
        ("largest", Function::Largest),
        ("smallest", Function::Smallest),
    ];

    /// The arguments of the function.
    pub fn signature(self) -> Signature {
        match self {
            Function::Mean
            | Function::Highest
            | Function::Lowest
            | Function::Total
            | Function::Variation
            | Function::Jain
            | Function::Least
            | Function::Convergence
            | Function::BurstCount
            | Function::BurstStart
            | Function::BurstSize => Signature::Series,
            Function::Balance => Signature::Pair,
            Function::Reach => Signature::Reach,
            Function::PeakShare => Signature::Share,
            Function::Dwell => Signature::Dwell,
            Function::Event | Function::When => Signature::Event,
            Function::Ratio | Function::Difference | Function::Harm | Function::HarmLess => Signature::Values(2, 2),
            Function::Sum | Function::Product | Function::Average | Function::Largest | Function::Smallest => {
                Signature::Values(1, 16)
            }
        }
    }

    fn name(self) -> &'static str {
        Function::ALL.iter().find(|f| f.1 == self).map_or("?", |f| f.0)
    }
}

/// The run that a value is taken from, if it is not the run of the entry itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Another experiment; `None` is the same experiment.
    pub experiment: Option<String>,
    /// Another scheme; `None` is the same scheme.
    pub scheme: Option<String>,
}

/// A parsed expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A constant.
    Number(f64),
    /// A metric, a series or an event key, by position.
    Name(String),
    /// A function of other expressions.
    Call(Function, Vec<Expr>),
    /// An expression evaluated in another run.
    At(Box<Expr>, Target),
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expr::Number(x) => write!(f, "{x}"),
            Expr::Name(name) => f.write_str(name),
            Expr::Call(function, arguments) => {
                write!(f, "{}(", function.name())?;
                for (i, argument) in arguments.iter().enumerate() {
                    write!(f, "{}{argument}", if i > 0 { ", " } else { "" })?;
                }
                f.write_str(")")
            }
            Expr::At(inner, target) => match (&target.experiment, &target.scheme) {
                (Some(experiment), Some(scheme)) => write!(f, "{inner}@{experiment}:{scheme}"),
                (one, other) => write!(f, "{inner}@{}", one.as_ref().or(other.as_ref()).map_or("", String::as_str)),
            },
        }
    }
}

/// Why a text is not a valid expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExprError {
    /// A name or number is expected after the last character.
    #[error("the expression ends too early")]
    Incomplete,
    /// A name or number is expected before this text.
    #[error("a name or number is missing before \"{0}\"")]
    MissingOperand(String),
    /// No function has this name.
    #[error("there is no function \"{0}\"; there are: {known}", known = Function::ALL.map(|f| f.0).join(", "))]
    UnknownFunction(String),
    /// The closing parenthesis of this function is missing.
    #[error("{0}( is not closed")]
    Unclosed(String),
    /// The nesting of functions exceeds the limit.
    #[error("the expression is nested too deeply")]
    TooDeep,
    /// Text after a complete expression.
    #[error("\"{0}\" is left over at the end")]
    Trailing(String),
}

/// Parses an expression.
///
/// # Errors
/// [`ExprError`], which describes the error.
pub fn parse(text: &str) -> Result<Expr, ExprError> {
    let mut parser = Parser { rest: text };
    let expr = parser.expr(0)?;
    parser.skip();
    match parser.rest {
        "" => Ok(expr),
        rest => Err(ExprError::Trailing(rest.to_owned())),
    }
}

struct Parser<'t> {
    rest: &'t str,
}

/// Maximum nesting depth.
const DEEPEST: usize = 16;

impl<'t> Parser<'t> {
    fn skip(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn accept(&mut self, c: char) -> bool {
        self.skip();
        match self.rest.strip_prefix(c) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn word(&mut self) -> Result<&'t str, ExprError> {
        self.skip();
        let end = self.rest.find(|c: char| c.is_whitespace() || "(),@".contains(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        match word {
            "" if rest.is_empty() => Err(ExprError::Incomplete),
            "" => Err(ExprError::MissingOperand(rest.to_owned())),
            word => Ok(word),
        }
    }

    fn expr(&mut self, depth: usize) -> Result<Expr, ExprError> {
        if depth > DEEPEST {
            return Err(ExprError::TooDeep);
        }
        let word = self.word()?;
        let mut expr = if self.accept('(') {
            let Some((_, function)) = Function::ALL.iter().find(|f| f.0 == word) else {
                return Err(ExprError::UnknownFunction(word.to_owned()));
            };
            let mut arguments = vec![self.expr(depth + 1)?];
            while self.accept(',') {
                arguments.push(self.expr(depth + 1)?);
            }
            if !self.accept(')') {
                return Err(ExprError::Unclosed(word.to_owned()));
            }
            Expr::Call(*function, arguments)
        } else {
            match word.parse::<f64>() {
                Ok(x) if x.is_finite() => Expr::Number(x),
                _ => Expr::Name(word.to_owned()),
            }
        };
        if self.accept('@') {
            let target = self.word()?;
            let (experiment, scheme) = match target.split_once(':') {
                Some((experiment, scheme)) => (Some(experiment.to_owned()), scheme),
                None => (None, target),
            };
            expr = Expr::At(Box::new(expr), Target { experiment, scheme: Some(scheme.to_owned()) });
        }
        Ok(expr)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_print_as_they_are_written() {
        for text in [
            "goodput_mbps",
            "consumers.C1.paths.P1>R1>C1.goodput_mbps",
            "mean(links.B>A.queue_ms, 20, 50)",
            "ratio(convergence(consumers.C1.goodput_mbps, 0.1, 0.25)@rp-abc, largest(a, b)@active:rp-a)",
            "shares.R1./c1.R1>R4",
        ] {
            assert_eq!(parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn slips_in_expressions_are_named() {
        for (text, part) in [
            ("", "ends too early"),
            ("mean(a, 1", "not closed"),
            ("men(a, 1, 2)", "no function \"men\""),
            ("a b", "left over"),
            ("sum(, a)", "missing"),
            ("a@", "ends too early"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
        assert_eq!(parse(&"sum(".repeat(1000)), Err(ExprError::TooDeep));
    }
}

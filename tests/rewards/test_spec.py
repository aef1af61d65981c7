"""Several rewards in a line: what is split, what stays together, and what is refused in words."""

import pytest

from guerdon.rewards.spec import parse_rewards


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("numeric", [(1.0, "numeric")]),
        ("numeric,0.2*think_format", [(1.0, "numeric"), (0.2, "think_format")]),
        (" numeric , 0.2 * think_format ", [(1.0, "numeric"), (0.2, "think_format")]),
        ("2*exact,-.5*overlong,0*numeric", [(2.0, "exact"), (-0.5, "overlong"), (0.0, "numeric")]),
        ("1e-3*a,+2E2*b", [(1e-3, "a"), (200.0, "b")]),
        ("a/b.py:f,0.1*~/c d.py:g", [(1.0, "a/b.py:f"), (0.1, "~/c d.py:g")]),
        ("code?tests=io&limit=2,math", [(1.0, "code?tests=io&limit=2"), (1.0, "math")]),
        (
            "numeric?worth=cannot_tell=none,wrong=-0.5,0.2*math?worth=failed=0,wrong=-1,exact",
            [
                (1.0, "numeric?worth=cannot_tell=none,wrong=-0.5"),
                (0.2, "math?worth=failed=0,wrong=-1"),
                (1.0, "exact"),
            ],
        ),
        ('choice?allowed=["a","b,c"],exact', [(1.0, 'choice?allowed=["a","b,c"]'), (1.0, "exact")]),
        ("rouge?pair=(1,2)&n=3,exact", [(1.0, "rouge?pair=(1,2)&n=3"), (1.0, "exact")]),
        ("pick?words=a%2Cb,exact", [(1.0, "pick?words=a%2Cb"), (1.0, "exact")]),
        ("pick?pattern=a*b,exact", [(1.0, "pick?pattern=a*b"), (1.0, "exact")]),
        ('0.5*"a,b=c*.py:f",exact', [(0.5, "a,b=c*.py:f"), (1.0, "exact")]),
        ('numeric?a=1,"x=1,y.py:f"', [(1.0, "numeric?a=1"), (1.0, "x=1,y.py:f")]),
        (r"C:\work\r.py:f,exact", [(1.0, r"C:\work\r.py:f"), (1.0, "exact")]),
    ],
)
def test_a_line_is_weights_and_specs_in_order(text, found):
    assert parse_rewards(text) == found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "found ''"),
        ("numeric,", "found ''"),
        ("numeric,,exact", "found ''"),
        ("0.2*", "where a reward should be"),
        ("numeric*0.2", "the weight 'numeric' is no finite number"),
        ("nan*numeric", "the weight 'nan'"),
        ("inf*numeric", "the weight 'inf'"),
        ("1.2.3*numeric", "the weight '1.2.3'"),
        ("numeric=0.2", "the weight first"),
        ("numeric,exact=0.2", "found 'exact=0.2'"),
        ("numeric,numeric", "'numeric' is there twice"),
        ("0.5*numeric,numeric", "'numeric' is there twice"),
        ("0*numeric", "every weight is 0"),
        ('numeric,"a.py:f', "a double quote is opened"),
        ("choice?allowed=[a,b", "a bracket is opened"),
        ("2*3*numeric", "found '3*numeric'"),
    ],
)
def test_what_is_no_line_of_rewards_is_refused_in_words(text, message):
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the message is what is looked at
        parse_rewards(text)
    assert message in str(error.value)
    assert repr(text) in str(error.value)
